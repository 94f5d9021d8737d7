// Writer of trace events in the JSON format of Chrome and Perfetto.
#pragma once

#include <cstdint>
#include <cstdio>

#include "lib/core/observe/trace_event.hpp"

namespace lci::core {

/// Writes one file: construct, write() events, finish(). Does not own the file. Not thread-safe.
class trace_file {
 public:
  trace_file(std::FILE* to, int rank);
  void write(const trace_event& e, size_t thread);
  void name_thread(size_t thread);
  void finish(uint64_t dropped);

 private:
  void begin_record();
  void slice(const trace_event& e, size_t thread, const char* category, const char* prefix, const char* name);
  /// One end of the arrow from a message's post to its arrival; `from` is the sender's rank.
  void flow(const trace_event& e, size_t thread, const char* phase, int from);
  void async(const trace_event& e, size_t thread, char phase, uint64_t when);

  std::FILE* to_;
  int rank_;
  uint64_t operations_ = 0;
  bool first_ = true;
};

}  // namespace lci::core
