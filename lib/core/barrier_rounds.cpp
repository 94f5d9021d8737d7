#include "lib/core/barrier_rounds.hpp"

#include "lib/core/device.hpp"
#include "lib/core/patient_progress.hpp"

namespace lci::core {

uint64_t device::begin_barrier() { return barriers->begin(); }

void device::await_barrier(int from, size_t round, uint64_t barrier) {
  for (patient_progress rounds(*this); !barriers->heard(round, barrier);) {
    check_peer(from);
    rounds.next();
  }
}

void device::await_sent(int to) {
  for (patient_progress rounds(*this); backlog.bytes_for(to) != 0;) {
    check_peer(to);
    rounds.next();
  }
}

}  // namespace lci::core
