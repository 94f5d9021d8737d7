// Calls with a timeout into libraries that may block for ever, for example in a fence.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace lci::network {

/// Runs calls one after the other in its own thread, and waits for each at most the timeout. Used by one thread at a
/// time. If a call does not return in time, the thread is abandoned with everything it uses, and further calls throw.
class timed_calls {
 public:
  /// `timeout` in seconds for each call; 0: for ever.
  explicit timed_calls(double timeout);
  ~timed_calls();
  timed_calls(const timed_calls&) = delete;
  timed_calls& operator=(const timed_calls&) = delete;

  void set_timeout(double timeout) { timeout_ = timeout; }

  /// Throws bootstrap_error with `late` if `call` has not returned in time; rethrows what `call` throws. `call` must
  /// own what it uses: it may outlive the caller.
  void run(std::function<void()> call, const std::string& late);

 private:
  struct state;
  std::shared_ptr<state> state_;
  double timeout_;
  bool lost_ = false;
};

}  // namespace lci::network
