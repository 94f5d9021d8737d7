// Waits for descriptors and calls who is interested. A thin epoll.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lci::launcher {

/// Not thread-safe. Descriptors stay their owners'. A handler may forget any descriptor, its own
/// too; descriptors opened by handlers must not be watched before wait() has returned.
class event_loop {
 public:
  using handler = std::function<void()>;

  event_loop();
  ~event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  /// False for what needs no waiting for (a regular file).
  bool watch(int fd, uint32_t events, handler on_ready);
  void forget(int fd);
  /// Handles what is ready; waits at most `seconds` for it (negative: for ever).
  void wait(double seconds);

 private:
  int epoll_;
  std::vector<handler> handlers_;  // by descriptor; empty: not watched
};

}  // namespace lci::launcher
