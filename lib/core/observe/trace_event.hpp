// One thing that a trace tells.
#pragma once

#include <cstdint>

#include "lci/types.hpp"

namespace lci::core {

/// What is posted, as its user calls it.
enum class post_kind : uint8_t { am, send, recv, put, get, atomic };

struct trace_event {
  enum class type : uint8_t {
    post,        // `what` is a post_kind
    completion,  // the same; a completion object was told; `posted` is when the post had ended
    arrival,     // `what` is a wire::kind
    progress,    // `size` counts events
    failure,     // `peer` is gone
  };
  type is;
  uint8_t what = 0;
  errorcode_t outcome = errorcode_t::done;
  int32_t peer = -1;
  int32_t device = -1;
  uint64_t begin = 0, end = 0;  // ns on the clock of tracer::now()
  uint64_t size = 0, tag = 0;
  union {
    uint64_t posted = 0;  // completion: when the post had ended
    uint64_t message;     // post, arrival: the message's number, see message_number(); 0: it has none
  };
};
static_assert(sizeof(trace_event) == 56, "as the attribute trace_events says");

}  // namespace lci::core
