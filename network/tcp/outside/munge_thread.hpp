// Requests to munged in a thread of their own: munged may answer late or never, and libmunge only blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "network/tcp/outside/credentials.hpp"

namespace lci::network::outside {

/// What a handshake requests: to confirm the peer's credential, to make one of this process, or first the one and then
/// the other.
struct munge_request {
  const char* their_role = nullptr;  ///< null: confirm none
  std::string theirs{};
  const char* own_role = nullptr;  ///< null: make none
  std::string hello{};
  nonce of_server{};
};

struct munge_answer {
  uint32_t ticket = 0;
  confirmation theirs = confirmation::unknown;  ///< `yes` if none was to be confirmed
  std::string own{};  ///< empty: none was requested, `theirs` is not `yes`, or munged does not answer
};

/// One thread, which starts with the first request and serves one after the other. Owned by `introductions`. Only its
/// owner's thread calls it, under the context's lock; no call waits for munged, except that the destructor waits for a
/// fraction of a second. If the thread is in a call to munged then, it ends by itself, and keeps what it uses.
class munge_thread {
 public:
  /// `keys` are copied. The epoll `events` reports `mark` when take() has answers. Throws resource_error.
  munge_thread(const credentials& keys, int events, uint64_t mark);
  ~munge_thread();
  munge_thread(const munge_thread&) = delete;
  munge_thread& operator=(const munge_thread&) = delete;

  /// Returns the ticket of the answer. Throws std::system_error if the thread can't be started. The caller bounds the
  /// number of requests: one for each handshake that waits.
  uint32_t request(munge_request what);
  /// There will be no answer with this ticket.
  void cancel(uint32_t ticket);
  std::vector<munge_answer> take();

 private:
  struct shared_state;
  static void run(const std::shared_ptr<shared_state>& state);

  const std::shared_ptr<shared_state> state_;  // also the thread's, as it may outlive this object
  std::thread thread_;
  uint32_t last_ticket_ = 0;
};

}  // namespace lci::network::outside
