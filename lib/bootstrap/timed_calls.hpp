// Calls into libraries that may never return, such as a fence of a launcher's library.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace lci::network {

/// Runs calls one after the other in a thread of its own, and waits for each at most the timeout.
/// Used by one thread at a time. A call that does not return in time keeps the thread: then that is
/// left behind with all it needs, and no more calls may be made.
class timed_calls {
 public:
  /// `timeout` in seconds for each call; 0 waits for ever.
  explicit timed_calls(double timeout);
  ~timed_calls();
  timed_calls(const timed_calls&) = delete;
  timed_calls& operator=(const timed_calls&) = delete;

  void set_timeout(double timeout) { timeout_ = timeout; }

  /// Throws bootstrap_error with `late` if `call` has not returned in time, else whatever it throws.
  /// `call` must own what it uses: it may outlive the caller.
  void run(std::function<void()> call, const std::string& late);

 private:
  struct state;
  std::shared_ptr<state> state_;
  double timeout_;
  bool lost_ = false;
};

}  // namespace lci::network
