// Calls into libraries that may never return, such as a fence of a launcher's library.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace lci::network {

/// Runs calls one after the other in a thread of its own, and waits for each so long and no longer.
/// Used by one thread at a time. A call that does not return in time keeps the thread: then that is
/// left behind with all it needs, and no more calls may be made.
class patience {
 public:
  /// `timeout` in seconds for each call; 0 waits for ever.
  explicit patience(double timeout);
  ~patience();
  patience(const patience&) = delete;
  patience& operator=(const patience&) = delete;

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
