// One event of a trace.
#pragma once

#include <cstdint>

#include "lci/types.hpp"

namespace lci::core {

/// Kind of a post, as in the public interface.
enum class post_kind : uint8_t { am, send, recv, put, get, atomic };

struct trace_event {
  enum class type : uint8_t {
    post,        // `what` is a post_kind
    completion,  // `what` is a post_kind; a completion object was signalled; `posted` is when the post returned
    arrival,     // `what` is a wire::kind
    progress,    // `size` counts events
    failure,     // `peer` has failed
  };
  type is;
  uint8_t what = 0;
  errorcode_t outcome = errorcode_t::done;
  int32_t peer = -1;
  int32_t device = -1;
  uint64_t begin = 0, end = 0;  // ns on the clock of tracer::now()
  uint64_t size = 0, tag = 0;
  union {
    uint64_t posted = 0;  // completion: when the post returned
    uint64_t message;     // post, arrival: the message's number, see tracer::next_message(); 0: it has none
  };
};
static_assert(sizeof(trace_event) == 56, "the size that the attribute trace_events documents");

}  // namespace lci::core
