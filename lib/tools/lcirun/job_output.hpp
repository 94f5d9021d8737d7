// Forwards the output of ranks, if it passes through lcirun, to lcirun's own streams, with or without labels, or to
// files.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "lib/tools/lcirun/event_loop.hpp"
#include "lib/tools/lcirun/label.hpp"
#include "lib/tools/lcirun/output_files.hpp"

namespace lci::launcher {

/// Not thread-safe. If the output is not read, reading of the ranks' pipes is paused, so that the ranks block when
/// those are full; lcirun continues to serve them.
class job_output {
 public:
  struct handlers {
    std::function<void(int stream, bool yes)> read;  // pauses or resumes reading
    std::function<void(int stream)> close;           // the reader is gone
  };

  job_output(event_loop& loop, bool label, const output_files& files, handlers call);

  void feed(int rank, int stream, const char* data, size_t size);
  void finish(int rank, int stream);
  /// Returns whether everything has been written.
  bool finished() const { return out_.output.empty() && error_.output.empty(); }
  /// Returns whether output could not be written although its reader, if it has one, is still there, for example
  /// because a disk is full.
  bool incomplete() const { return !lost_.empty(); }
  /// Discards unwritten output and all further output.
  void drop();

 private:
  struct stream_state {
    stream_state(int stream, int fd) : number(stream), output(fd) {}
    const int number;
    output_stream output;
    bool watched = false;  // waiting for room
    bool paused = false;   // not reading, since there is no room
    bool closed = false;
  };

  stream_state& state(int stream);
  line_labeller& lines(int rank, int stream);
  void write(stream_state& to);
  void settle(stream_state& to);
  /// Says, once for each place, that output could not be written there.
  void lose(const std::string& place, int error);

  event_loop& loop_;
  const bool label_;
  const output_files& files_;
  const handlers call_;
  stream_state out_, error_;
  std::map<std::pair<int, int>, line_labeller> lines_;
  std::set<std::string> lost_;  // where output could not be written
};

}  // namespace lci::launcher
