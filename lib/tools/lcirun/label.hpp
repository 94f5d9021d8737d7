// Output of several ranks on one stream: complete lines, each prefixed with its rank.
#pragma once

#include <cstddef>
#include <string>

namespace lci::launcher {

/// Buffers output to stdout or stderr and writes it without blocking for long. The descriptor is shared with other
/// processes, so it can't be made non-blocking. Not thread-safe.
class output_stream {
 public:
  explicit output_stream(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  bool empty() const { return done_ == bytes_.size(); }
  /// Returns whether so much is buffered that ranks should be paused.
  bool full() const { return bytes_.size() - done_ > high_water; }
  /// Returns whether a write has failed, for example because the stream's reader is gone.
  bool broken() const { return error_ != 0; }
  /// Returns the errno of the write that has failed; 0: none has.
  int error() const { return error_; }

  void append(const std::string& text);
  /// Call this when epoll reports the descriptor as writable.
  void write_some();
  void drop();

 private:
  static constexpr size_t high_water = size_t(1) << 20;
  int fd_;
  std::string bytes_;
  size_t done_ = 0;
  int error_ = 0;
};

/// The lines of one rank's stdout or stderr.
class line_labeller {
 public:
  line_labeller(int rank, output_stream& to) : label_("[" + std::to_string(rank) + "] "), to_(to) {}
  void feed(const char* data, size_t size);
  /// At the end of the rank's output: adds a newline to an unfinished line.
  void finish();

 private:
  /// Longer lines are split, so that a rank that never ends its line can't use up the memory.
  static constexpr size_t longest_line = size_t(1) << 16;
  void emit();

  std::string label_;
  std::string line_;
  output_stream& to_;
};

}  // namespace lci::launcher
