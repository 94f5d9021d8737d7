#include "lib/core/device/barrier_rounds.hpp"

#include "lib/core/device/device.hpp"
#include "lib/core/device/progress_backoff.hpp"

namespace lci::core {

uint64_t begin_barrier(device& d) { return d.barriers->begin(); }

void await_barrier(device& d, int from, size_t round, uint64_t barrier) {
  for (progress_backoff rounds(d); !d.barriers->has_arrived(round, barrier);) {
    d.failures.check(from);
    rounds.next();
  }
}

void await_sent(device& d, int to) {
  for (progress_backoff rounds(d); d.backlog.bytes_for(to) != 0;) {
    d.failures.check(to);
    rounds.next();
  }
}

}  // namespace lci::core
