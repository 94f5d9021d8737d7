// Waits for descriptors and calls their handlers. A thin layer over epoll.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lci::launcher {

/// Not thread-safe. Does not own descriptors. A handler may forget any descriptor, its own included. A descriptor
/// opened by a handler must not be watched before wait() has returned.
class event_loop {
 public:
  using handler = std::function<void()>;

  event_loop();
  ~event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  /// Returns false for a descriptor that epoll does not support because it never blocks (a regular file).
  bool watch(int fd, uint32_t events, handler on_ready);
  void forget(int fd);
  /// Calls the handlers of ready descriptors; waits at most `seconds` for one (negative: for ever).
  void wait(double seconds);

 private:
  int epoll_;
  std::vector<handler> handlers_;  // by descriptor; empty: not watched
};

}  // namespace lci::launcher
