// A flag that wakes a thread which sleeps, or is about to, when another thread leaves work for it.
#pragma once

#include <atomic>

namespace lci {

/// Any thread may ring; one thread sleeps, in a `Place` whose unpark() ends the current park() or the
/// next one.
///
/// A thread that leaves work for the sleeper first makes it visible, then calls ring(). The sleeper first
/// calls announce(), then checks for work, then parks. All accesses to the flag are acquire-release exchanges,
/// so they are ordered, and each sees the writes before all earlier ones (X). If announce() comes
/// before ring(), with no leave() between them, ring() finds the flag set, and unparks. If ring() comes
/// before announce(), the work is visible to the check that follows. Either way the thread does not sleep while
/// there is work.
template <template <class> class Atom = std::atomic>
class progress_bell {
 public:
  template <class Place>
  void ring(Place& place) {
    if (asleep_.exchange(false, std::memory_order_acq_rel)) place.unpark();  // X
  }
  void announce() { asleep_.exchange(true, std::memory_order_acq_rel); }  // X
  /// Called after park(). A ring() between its return and this call costs an unnecessary unpark().
  void leave() { asleep_.exchange(false, std::memory_order_acq_rel); }  // X

 private:
  Atom<bool> asleep_{false};
};

}  // namespace lci
