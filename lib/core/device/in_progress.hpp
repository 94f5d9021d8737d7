// What a thread knows of itself: whether it is inside progress() or a post, and how much it has sent since its
// progress.
#pragma once

#include <cstdint>

namespace lci::core {

class device;

/// Set while this thread is inside progress() or a handler that a post runs.
extern constinit thread_local bool tls_in_progress __attribute__((tls_model("initial-exec")));

/// The device of the post that this thread is executing, while the post's operation may end; else null.
extern constinit thread_local device* tls_posting __attribute__((tls_model("initial-exec")));

/// Sends that this thread has posted since it made progress last.
extern constinit thread_local uint32_t tls_sends_in_a_row __attribute__((tls_model("initial-exec")));
/// After so many a post makes progress, so that the thread receives the peers' requests for a pause. It sends a peer
/// that asks for one at most this many messages more.
constexpr uint32_t most_sends_in_a_row = 1024;

/// Marks this thread as being inside progress(), also when a handler throws.
struct inside_progress {
  inside_progress() { tls_in_progress = true; }
  ~inside_progress() { tls_in_progress = false; }
};

/// Marks this thread as executing a post to `d` whose operation other threads may reach already, or which may end it
/// itself. An operation that ends meanwhile is one that completes within its post, so that its handler is not entered
/// recursively. A post that waits makes progress, so its wait is outside of the mark.
class inside_post {
 public:
  explicit inside_post(device& d) : before_(tls_posting) { tls_posting = &d; }
  ~inside_post() { tls_posting = before_; }
  inside_post(const inside_post&) = delete;
  inside_post& operator=(const inside_post&) = delete;

 private:
  device* const before_;  // not null in a handler that a post runs
};

}  // namespace lci::core
