#include "lib/core/device/barrier_rounds.hpp"

#include "lib/core/device/device.hpp"
#include "lib/core/device/progress_backoff.hpp"

namespace lci::core {

uint64_t device::begin_barrier() { return barriers->begin(); }

void device::await_barrier(int from, size_t round, uint64_t barrier) {
  for (progress_backoff rounds(*this); !barriers->heard(round, barrier);) {
    failures.check(from);
    rounds.next();
  }
}

void device::await_sent(int to) {
  for (progress_backoff rounds(*this); backlog.bytes_for(to) != 0;) {
    failures.check(to);
    rounds.next();
  }
}

}  // namespace lci::core
