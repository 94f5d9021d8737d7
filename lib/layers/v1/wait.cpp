#include "lib/layers/v1/wait.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <string>

namespace v1 {

namespace {

constexpr double shortest_slice = 0.002, longest_slice = 0.01, slice_of_several = 0.0005;

/// Rings a bell with each delivery of this thread.
class ringing {
 public:
  explicit ringing(lci::comp_impl_t* bell) : before_(exchange_bell(bell)) {}
  ~ringing() { (void)exchange_bell(before_); }
  ringing(const ringing&) = delete;
  ringing& operator=(const ringing&) = delete;

 private:
  lci::comp_impl_t* const before_;
};

}  // namespace

void progress_on_others(world& w, LCI_device_t device) {
  std::array<lci::device_t, max_devices> cores;
  size_t n = 0;
  {
    std::lock_guard guard(w.mutex);
    for (LCI_device_t d : w.devices)
      if (d != nullptr && d != device) cores[n++] = d->core;
  }
  for (size_t i = 0; i < n; ++i) (void)lci::progress_x().device(cores[i])();
}

void make_progress(world& w, lci::device_t device) {
  (void)lci::progress_x().device(device)();
  (void)w.postponed.go_on();
}

void check_ranks(const world& w) {
  if (const int rank = w.failed_rank.load(std::memory_order_relaxed); rank >= 0)
    throw lci::peer_failure_error(rank, "rank " + std::to_string(rank) + " has failed");
}

waiter::waiter(world& w, LCI_device_t device)
    : world_(w),
      device_(device != nullptr ? device : LCI_UR_DEVICE),
      all_(device == nullptr && LCI_NUM_DEVICES > 1),
      polls_(device_->polls.load(std::memory_order_relaxed)),
      slice_(all_ ? slice_of_several : shortest_slice) {}

bool waiter::others_poll() {
  const uint64_t now = device_->polls.load(std::memory_order_relaxed);
  return std::exchange(polls_, now) != now;
}

bool waiter::make_progress() {
  if (!device_->waits.try_lock()) return false;
  std::lock_guard guard(device_->waits, std::adopt_lock);
  const int64_t before = lci::counter_get(device_->bell);
  (void)world_.postponed.go_on();
  const ringing rings(device_->bell.get_impl());
  // A program may wait for an object of this device that operations of another device signal.
  if (all_ || (slice_ >= longest_slice && LCI_NUM_DEVICES > 1)) progress_on_others(world_, device_);
  // Another thread may have delivered what is waited for: the caller looks again after each slice.
  if (lci::counter_wait_for_x(device_->bell, before + 1, slice_).device(device_->core)())
    slice_ = all_ ? slice_of_several : shortest_slice;
  else
    slice_ = std::min(2 * slice_, all_ ? slice_of_several : longest_slice);
  return true;
}

namespace {

/// Makes progress on the devices, except one, for which LCI_progress() has not been called for a time. Used by one
/// thread.
class idle_devices {
 public:
  void make_progress(world& w, LCI_device_t except) {
    const auto now = clock::now();
    std::array<lci::device_t, max_devices> cores;
    size_t n = 0;
    {
      std::lock_guard guard(w.mutex);
      for (size_t i = 0; i < max_devices; ++i) {
        const LCI_device_t d = w.devices[i];
        if (d == nullptr || d == except) continue;
        const uint64_t polls = d->polls.load(std::memory_order_relaxed);
        if (!looks_[i].any || looks_[i].polls != polls)
          looks_[i] = {true, polls, now};
        else if (now - looks_[i].since >= longest_pause)
          cores[n++] = d->core;
      }
    }
    for (size_t i = 0; i < n; ++i) (void)lci::progress_x().device(cores[i])();
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds longest_pause{10};  // of a thread that calls LCI_progress() in a loop

  struct look {
    bool any = false;
    uint64_t polls = 0;
    clock::time_point since;  // when `polls` was first read
  };
  std::array<look, max_devices> looks_{};
};

/// Waits for all ranks, with progress on `device` and by `on_others()`.
template <class F>
void meet_with(world& w, LCI_device_t device, F on_others) {
  check_ranks(w);
  lci::comp_t met = lci::alloc_sync_x().runtime(w.runtime)();
  lci::barrier_x().runtime(w.runtime).device(device->core).comp(met)();
  lci::status_t end;
  // Where this throws, the barrier may still signal the synchronizer, which is not freed.
  persist([&] {
    check_ranks(w);
    (void)w.postponed.go_on();
    on_others();
    return lci::sync_wait_for_x(met, slice_of_several, &end).runtime(w.runtime).device(device->core)();
  });
  lci::free_comp_x(&met).runtime(w.runtime)();
  lci::check_status_x(end).device(device->core)();
}

}  // namespace

void meet(world& w, LCI_device_t device) {
  meet_with(w, device, [&] {
    if (LCI_NUM_DEVICES > 1) progress_on_others(w, device);
  });
}

void meet_patiently(world& w) {
  idle_devices others;
  meet_with(w, LCI_UR_DEVICE, [&] { others.make_progress(w, LCI_UR_DEVICE); });
}

}  // namespace v1
