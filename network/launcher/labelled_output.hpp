// `--label`: reads all ranks' stdout and stderr and passes them on line by line.
#pragma once

#include <deque>

#include "network/launcher/event_loop.hpp"
#include "network/launcher/label.hpp"

namespace lci::launcher {

/// Owns the ranks' pipes. Not thread-safe. When nobody takes the output, the ranks are left to fill
/// their pipes, while the launcher goes on serving them.
class labelled_output {
 public:
  explicit labelled_output(event_loop& loop);

  /// Takes over the reading ends of a rank's pipes.
  void add(int rank, int out, int error);
  /// All pipes are at their end and all is written.
  bool finished() const;
  /// Forgets what is not written yet.
  void drop();

 private:
  struct stream;
  struct source {
    int fd;
    stream* to;
    line_labeller lines;
  };
  struct stream {
    explicit stream(int fd) : output(fd) {}
    output_stream output;
    bool watched = false;  // waiting for room
    bool paused = false;   // not reading, since there is no room
  };

  void add_source(int rank, int fd, stream& to);
  void read(source& from);
  void close_source(source& from);
  void write(stream& to);
  void settle(stream& to);

  event_loop& loop_;
  stream out_, error_;
  std::deque<source> sources_;  // addresses stay
  int open_ = 0;
};

}  // namespace lci::launcher
