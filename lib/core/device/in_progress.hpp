// What a thread knows of its own progress: whether it is inside progress(), and how much it has sent since.
#pragma once

#include <cstdint>

namespace lci::core {

/// Set while this thread is inside progress() or a handler that a post runs.
extern constinit thread_local bool tls_in_progress __attribute__((tls_model("initial-exec")));

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

}  // namespace lci::core
