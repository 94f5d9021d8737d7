// The sleep of threads that wait, and make progress on a device, until anything happens that concerns the device or the
// object that a thread waits for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

/// Returns whether nothing of the device waits for something that rings no bell: room in the network, or packets.
inline bool may_sleep_long(const device& d) {
  return d.backlog.empty() && !d.receive_window.has_requests() &&
         d.rt.deferred.count.load(std::memory_order_acquire) == 0 && !d.supply.lack_receives();
}

/// The sleep of a thread in wait_until() that has seen no event for a while. A local variable of that thread, which
/// alone uses it; other threads call wake() only.
///
/// Of the threads that wait on one device, one is the leader: it sleeps in the network's park(), as a progress thread
/// does. The others are followers: each sleeps until its completion object is signalled, which the leader's progress
/// does. When the leader wakes up, it wakes one follower, which becomes the next leader. So some thread sleeps in the
/// network while the previous leader handles messages.
///
/// The leader wakes up for an event of the network (shared memory or sockets), for work that another thread defers and
/// for deadlines (the device's bell), and when its object is signalled (placed_sleepers). A follower wakes up when its
/// object is signalled, and when it is to lead (waiting_line).
class long_wait final : public sleeping_place {
 public:
  explicit long_wait(device* d) : device_(d) {}
  ~long_wait() {
    if (LCI_UNLIKELY(followed_)) device_->line.pass_on();
  }
  long_wait(const long_wait&) = delete;
  long_wait& operator=(const long_wait&) = delete;

  /// Sleeps at most `ns` nanoseconds (negative: for ever). `sleep(ns)` sleeps on the completion object, and returns at
  /// once if the object is ready. Returns false, without having slept, if requests wait that need to be tried again
  /// soon.
  template <class Sleep>
  LCI_COLD bool operator()(int64_t ns, Sleep& sleep) {
    if (!device_->line.try_to_lead()) return sleep_as_follower(ns, sleep);
    struct leadership {
      waiting_line& of;
      ~leadership() { of.stop_leading(); }
    } const until_end{device_->line};
    return sleep_as_leader(ns, sleep);
  }

  void sleep(int64_t timeout_ns) override {
    const int64_t most = std::min(longest_us, device_->deadlines.left() / 1000 + 1);
    device_->net->park(timeout_ns < 0 ? most : std::min(most, timeout_ns / 1000 + 1));
  }
  void wake() override { device_->net->unpark(); }

 private:
  template <class Sleep>
  bool sleep_as_leader(int64_t ns, Sleep& sleep) {
    device& d = *device_;
    struct bell_rings {  // also for work that the runtime defers
      device& d;
      ~bell_rings() {
        d.bell.leave();
        d.rt.bells.remove(d.bell);
      }
    };
    try {
      d.rt.bells.add(d.bell, *d.net);
    } catch (const std::bad_alloc&) {
      return false;
    }
    const bell_rings end{d};
    d.bell.announce();
    if (!may_sleep_long(d)) return false;
    sleep_in(*this, [&] { sleep(ns); });
    return true;
  }
  template <class Sleep>
  bool sleep_as_follower(int64_t ns, Sleep& sleep) {
    waiting_line::follower me;
    if (!device_->line.join(me)) return true;  // the leader has just woken
    followed_ = true;
    constexpr int64_t longest = longest_as_follower_us * 1000;
    sleep_in(me, [&] { sleep(ns < 0 ? longest : std::min(ns, longest)); });
    device_->line.leave(me);
    return true;
  }

  // Some networks look after their peers when a sleep ends. A follower that was woken to lead may have a long handler
  // to call first; the others take its place after this time.
  static constexpr int64_t longest_us = 100000, longest_as_follower_us = 20000;

  device* const device_;
  bool followed_ = false;
};

}  // namespace lci::core
