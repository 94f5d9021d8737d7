// How work that is left for another thread reaches it though it may be about to sleep.
#pragma once

#include <atomic>

namespace lci {

/// Any thread may ring; one thread sleeps, in a `Place` whose unpark() ends the park() under way or the
/// next one.
///
/// Whoever leaves work for the sleeper first makes it visible, then calls ring(). The sleeper first
/// calls announce(), then looks for work, then parks. All accesses to the flag are exchanges that acquire
/// and release, so they have an order, and each has seen what all before it had (X). If announce() comes
/// before ring(), and no leave() between them, ring() finds the flag set, and unparks. If ring() comes
/// before announce(), the work is visible to the look that follows. Either way nobody sleeps on work.
template <template <class> class Atom = std::atomic>
class progress_bell {
 public:
  template <class Place>
  void ring(Place& place) {
    if (asleep_.exchange(false, std::memory_order_acq_rel)) place.unpark();  // X
  }
  void announce() { asleep_.exchange(true, std::memory_order_acq_rel); }  // X
  /// Awake again. A ring() meanwhile costs an unpark() for nothing.
  void leave() { asleep_.exchange(false, std::memory_order_acq_rel); }  // X

 private:
  Atom<bool> asleep_{false};
};

}  // namespace lci
