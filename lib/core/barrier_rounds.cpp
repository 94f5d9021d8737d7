#include "lib/core/barrier_rounds.hpp"

#include "lib/core/device.hpp"

namespace lci::core {

uint64_t device::begin_barrier() { return barriers->begin(); }

void device::await_barrier(int from, size_t round, uint64_t barrier) {
  for (int idle = 0; !barriers->heard(round, barrier);) {
    check_peer(from);
    idle = progress() ? 0 : idle + 1;
    if (idle > 1000) net->wait(100);
  }
}

}  // namespace lci::core
