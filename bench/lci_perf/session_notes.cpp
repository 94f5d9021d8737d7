// The lines above a table that say how its figures were measured.
#include <cstdio>

#include "bench/lci_perf/session.hpp"

namespace lci_perf {

std::vector<std::string> session::notes() const {
  const options& o = options_;
  std::vector<std::string> out;
  std::string line = ranks_ == 1 ? "1 rank to itself, " : std::to_string(ranks_) + " ranks, ";
  line += std::to_string(pairs_) + (pairs_ == 1 ? " pair of " : " pairs of ");
  line += o.processes ? "processes" : "threads, ";
  if (!o.processes) line += o.dedicated ? "a device each" : "one shared device";
  if (options_.metric == metric_kind::bidirectional) line += ", in both directions at once";
  if (is_stream_) {
    line +=
        ", window " + std::to_string(o.window) + ", acknowledged every " + std::to_string(o.window / syncs_per_side);
  }
  out.push_back(line);
  if (o.op == op_kind::orderedam) out.push_back("a stream for each pair: messages are delivered in order");
  const char* by[] = {"signalled to a handler", "signalled to a completion queue", "signalled to synchronizers",
                      "signalled to a counter"};
  line = std::string(by[static_cast<int>(o.comp)]);
  if (o.op == op_kind::sendrecv) {
    line += ", received into buffers posted beforehand";
  } else if (o.op == op_kind::putsignal) {
    line = "puts to shared memory, each " + line;
  } else if (o.op == op_kind::getsignal) {
    line = "gets from shared memory of another rank, where each is " + line;
  } else if (o.comp == comp_kind::handler) {
    line += ", which reads the payload in place, or owns and frees it if it has more than " +
            std::to_string(max_eager_) + " bytes";
  } else {
    line += o.zero_copy ? ", payload in packets (put_upacket)" : ", payload in malloc'ed copies, freed";
  }
  out.push_back(line);
  if (o.percentiles) {
    char text[160];
    std::snprintf(text, sizeof(text),
                  "percentiles are of single round trips, halved; reading the clock, %.1f ns, is "
                  "part of each "
                  "round trip",
                  nanoseconds_of_reading());
    out.push_back(text);
  }
  out.push_back(ranks_ != 1 || o.bind == bind_kind::none
                    ? describe_binding(o.bind, ranks_, o.threads)
                    : "senders as rank 0, receivers as rank 1: " + describe_binding(o.bind, 2, o.threads));
  if (o.offset != 0) out.push_back(note_of_offset(o.offset));
  if (crowded_) out.push_back("more threads than cores: idle threads yield");
  return out;
}

}  // namespace lci_perf
