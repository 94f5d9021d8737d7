// Frames to and from a descriptor that never blocks.
#pragma once

#include <functional>
#include <string>

#include "lib/tools/lcirun/event_loop.hpp"
#include "lib/tools/lcirun/frame.hpp"

namespace lci::launcher {

/// Owns its descriptor. Not thread-safe. It outlives the loop's turn in which it ends.
class connection {
 public:
  struct handlers {
    /// False: the frame makes no sense, which ends the connection.
    std::function<bool(frame_t type, frame_reader& fields)> on_frame;
    /// Once, unless close() was called: why there is no connection any more.
    std::function<void(const std::string& why)> on_end;
  };

  /// Without on_frame, nothing is read.
  connection(event_loop& loop, int fd, size_t longest_frame, handlers call);
  ~connection() { close(); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  bool open() const { return fd_ >= 0; }
  void send(frame_writer& frame);
  /// All that was sent has been handed to the kernel.
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
  size_t done_ = 0;  // of the queue
  uint32_t watched_ = 0;
};

/// A socket that notices within `seconds` that its peer's host has gone.
void watch_peer(int socket, double seconds);
void make_nonblocking(int fd);

}  // namespace lci::launcher
