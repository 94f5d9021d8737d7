#include "lib/core/observe/trace_file.hpp"

#include <cinttypes>

#include "lib/core/wire/wire.hpp"

namespace lci::core {

namespace {

const char* post_name(uint8_t what) {
  static constexpr const char* names[] = {"am", "send", "recv", "put", "get", "atomic"};
  return what < std::size(names) ? names[what] : "unknown";
}

const char* wire_name(uint8_t what) {
  static constexpr const char* names[] = {"none",       "am",          "send",           "rts_am",        "rts_send",
                                          "rtr",        "fin",         "fragment",       "signal",        "put",
                                          "ack",        "get_request", "atomic_request", "atomic_reply",  "am_acked",
                                          "send_acked", "am_ordered",  "rts_ordered",    "stream_credit", "withdraw",
                                          "device_end", "send_pause"};
  static_assert(std::size(names) == static_cast<size_t>(wire::kind::last) + 1);
  return what < std::size(names) ? names[what] : "unknown";
}

/// Nanoseconds formatted as microseconds, the unit of the format.
struct microseconds {
  char text[32];
  explicit microseconds(uint64_t ns) {
    std::snprintf(text, sizeof text, "%" PRIu64 ".%03u", ns / 1000, static_cast<unsigned>(ns % 1000));
  }
};

}  // namespace

trace_file::trace_file(std::FILE* to, int rank) : to_(to), rank_(rank) {
  std::fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", to_);
  begin_record();
  std::fprintf(to_,
               "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, "
               "\"args\": {\"name\": \"rank %d\"}}",
               rank_, rank_);
}

void trace_file::begin_record() {
  std::fputs(first_ ? "\n" : ",\n", to_);
  first_ = false;
}

void trace_file::name_thread(size_t thread) {
  begin_record();
  std::fprintf(to_,
               "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %zu, "
               "\"args\": {\"name\": \"thread %zu\"}}",
               rank_, thread, thread);
}

void trace_file::slice(const trace_event& e, size_t thread, const char* category, const char* prefix,
                       const char* name) {
  begin_record();
  std::fprintf(to_,
               "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s%s\", \"pid\": %d, \"tid\": %zu, "
               "\"ts\": %s, \"dur\": %s, \"args\": {\"device\": %d",
               category, prefix, name, rank_, thread, microseconds(e.begin).text, microseconds(e.end - e.begin).text,
               e.device);
  if (e.is == trace_event::type::progress) {
    std::fprintf(to_, ", \"events\": %" PRIu64 "}}", e.size);
    return;
  }
  std::fprintf(to_, ", \"peer\": %d, \"size\": %" PRIu64 ", \"tag\": %" PRIu64, e.peer, e.size, e.tag);
  if (e.is != trace_event::type::arrival) std::fprintf(to_, ", \"status\": \"%s\"", get_errorcode_str(e.outcome));
  std::fputs("}}", to_);
}

void trace_file::async(const trace_event& e, size_t thread, char phase, uint64_t when) {
  begin_record();
  std::fprintf(to_,
               "{\"ph\": \"%c\", \"cat\": \"operation\", \"name\": \"%s\", \"pid\": %d, "
               "\"tid\": %zu, \"id\": \"%d.%" PRIu64
               "\", \"ts\": %s, \"args\": {\"peer\": %d, "
               "\"size\": %" PRIu64 "}}",
               phase, post_name(e.what), rank_, thread, rank_, operations_, microseconds(when).text, e.peer, e.size);
}

void trace_file::flow(const trace_event& e, size_t thread, const char* phase, int from) {
  if (e.message == 0) return;
  // Streams number their messages per target.
  const bool of_stream = e.message >> 63 != 0;
  const int to = from == rank_ ? e.peer : rank_;
  begin_record();
  std::fprintf(to_,
               "{\"ph\": %s, \"cat\": \"message\", \"name\": \"message\", \"pid\": %d, \"tid\": %zu, "
               "\"ts\": %s, \"id\": \"%d.%s%" PRIu64,
               phase, rank_, thread, microseconds(e.begin).text, from, of_stream ? "stream." : "",
               e.message & ~(uint64_t{1} << 63));
  if (of_stream) std::fprintf(to_, ".%d", to);
  std::fputs("\"}", to_);
}

void trace_file::write(const trace_event& e, size_t thread) {
  switch (e.is) {
    case trace_event::type::post:
      slice(e, thread, "post", "post_", post_name(e.what));
      return flow(e, thread, "\"s\"", rank_);
    case trace_event::type::completion:
      slice(e, thread, "completion", "complete ", post_name(e.what));
      // The time in flight is a line of its own, which begins when the post returned, in whatever thread.
      ++operations_;
      async(e, thread, 'b', e.posted);
      return async(e, thread, 'e', e.begin);
    case trace_event::type::arrival:
      slice(e, thread, "arrival", "arrive ", wire_name(e.what));
      return flow(e, thread, "\"f\", \"bp\": \"e\"", e.peer);
    case trace_event::type::progress:
      return slice(e, thread, "progress", "", "progress");
    case trace_event::type::failure:
      begin_record();
      std::fprintf(to_,
                   "{\"ph\": \"i\", \"s\": \"p\", \"cat\": \"failure\", \"name\": \"rank %d has failed\", "
                   "\"pid\": %d, \"tid\": %zu, \"ts\": %s, \"args\": {\"device\": %d, \"peer\": %d}}",
                   e.peer, rank_, thread, microseconds(e.begin).text, e.device, e.peer);
      return;
  }
}

void trace_file::finish(uint64_t dropped) {
  std::fprintf(to_, "\n], \"otherData\": {\"rank\": %d, \"dropped_events\": %" PRIu64 "}}\n", rank_, dropped);
}

}  // namespace lci::core
