// Output of several ranks on one stream: whole lines, each with its rank in front.
#pragma once

#include <cstddef>
#include <string>

namespace lci::launcher {

/// Bytes on their way to stdout or stderr, written without ever blocking for long: the descriptor
/// is shared with others, so it can't be made non-blocking. Not thread-safe.
class output_stream {
 public:
  explicit output_stream(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  bool empty() const { return done_ == bytes_.size(); }
  /// So much is waiting that ranks should be made to wait too.
  bool full() const { return bytes_.size() - done_ > high_water; }
  /// Nobody reads this stream any more.
  bool broken() const { return broken_; }

  void append(const std::string& text);
  /// Call it when poll says that the descriptor can be written to.
  void write_some();
  void drop();

 private:
  static constexpr size_t high_water = size_t(1) << 20;
  int fd_;
  std::string bytes_;
  size_t done_ = 0;
  bool broken_ = false;
};

/// The lines of one rank's stdout or stderr.
class line_labeller {
 public:
  line_labeller(int rank, output_stream& to) : label_("[" + std::to_string(rank) + "] "), to_(to) {}
  void feed(const char* data, size_t size);
  /// At the end of the rank's output: what has no newline yet gets one.
  void finish();

 private:
  /// Longer lines are cut: a rank that never ends its line shall not eat the memory.
  static constexpr size_t longest_line = size_t(1) << 16;
  void emit();

  std::string label_;
  std::string line_;
  output_stream& to_;
};

}  // namespace lci::launcher
