// Sends and receives frames over a non-blocking descriptor.
#pragma once

#include <functional>
#include <string>

#include "lib/tools/lcirun/event_loop.hpp"
#include "lib/tools/lcirun/frame.hpp"

namespace lci::launcher {

/// Owns its descriptor. Not thread-safe. Must not be destroyed by a handler: it must outlive the current
/// event_loop::wait().
class connection {
 public:
  struct handlers {
    /// Returns false if the frame is invalid, which ends the connection.
    std::function<bool(frame_t type, frame_reader& fields)> on_frame;
    /// Called once, with the reason, when the connection ends; not after close().
    std::function<void(const std::string& why)> on_end;
  };

  /// Without on_frame, nothing is read.
  connection(event_loop& loop, int fd, size_t longest_frame, handlers call);
  ~connection() { close(); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  bool open() const { return fd_ >= 0; }
  void send(frame_writer& frame);
  /// Returns whether the kernel has accepted all frames.
  bool flushed() const { return queue_.empty(); }
  void close();

 private:
  void ready();
  void read_some();
  void write_some();
  void watch();
  void end(const std::string& why);

  event_loop& loop_;
  int fd_;
  frame_buffer received_;
  const handlers call_;
  std::string queue_;
  size_t done_ = 0;  // bytes of queue_ that are written
  uint32_t watched_ = 0;
};

/// Makes a socket report an error when its peer's host has not answered for `seconds`.
void watch_peer(int socket, double seconds);
void make_nonblocking(int fd);

}  // namespace lci::launcher
