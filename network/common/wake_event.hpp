// Sleeping until a descriptor is ready, and an event by which a thread wakes one that sleeps so.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>

#include "network/common/liveness_socket.hpp"

namespace lci::network {

/// An eventfd: one thread sleeps until its descriptor is ready, others make it ready. Owns the descriptor. Thread-safe.
class wake_event {
 public:
  /// Throws resource_error. `backend`: for its text.
  explicit wake_event(const char* backend);
  int fd() const { return event_.get(); }
  void set();
  void clear();

 private:
  const socket_handle event_;
};

/// The descriptors that end a sleep. Used by one thread.
class sleep_set {
 public:
  /// For some changes there is no event, so sleeping is limited.
  explicit sleep_set(int64_t longest_us) : longest_us_(longest_us) {}
  void add(int fd) { fds_[n_++] = {fd, POLLIN, 0}; }
  void limit(int64_t longest_us) { longest_us_ = longest_us < longest_us_ ? longest_us : longest_us_; }
  /// Sleeps until one of them is ready. Returns false if none is.
  bool sleep();
  bool is_ready(int fd) const;

 private:
  int64_t longest_us_;
  std::array<pollfd, 4> fds_;
  nfds_t n_ = 0;
};

}  // namespace lci::network
