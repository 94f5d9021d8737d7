#include "lib/core/device/barrier_rounds.hpp"

#include "lib/core/device/device.hpp"
#include "lib/core/device/kept_exceptions.hpp"
#include "lib/core/device/progress_backoff.hpp"

namespace lci::core {
namespace {

/// A barrier that a failed rank has not entered ends at no rank. Ranks that have noticed the failure leave it without
/// sending further messages, so each rank looks for failures of all ranks, also for those that were reported before.
template <class Ready>
void await(device& d, kept_exceptions& kept, Ready ready) {
  for (progress_backoff rounds(d); !ready();) {
    d.failures.check_ranks();
    kept.call([&] { rounds.next(); });
  }
}

}  // namespace

uint64_t begin_barrier(device& d) { return d.barriers->begin(); }

void await_barrier(device& d, size_t round, uint64_t barrier, kept_exceptions& kept) {
  await(d, kept, [&] { return d.barriers->has_arrived(round, barrier); });
}

void await_sent(device& d, int to, kept_exceptions& kept) {
  await(d, kept, [&] { return d.backlog.bytes_for(to) == 0; });
}

}  // namespace lci::core
