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

/// Whether nothing of the device waits for something that rings no bell: room in the network, or packets.
inline bool may_sleep_long(const device& d) {
  return d.backlog.empty() && !d.receive_window.has_requests() &&
         d.rt.deferred.count.load(std::memory_order_acquire) == 0 && !d.supply.lack_receives();
}

/// Of a thread in wait_until() that has waited for a while without an event. Such threads of a device form a line: the
/// leader, one at a time, sleeps in the network's park(), as a progress thread does; the others, followers, sleep for
/// their objects, which the leader's progress signals. When the leader's sleep ends, a follower wakes and leads, so
/// there is one while the old leader handles what has come. Used by one thread.
///
/// What ends the leader's sleep: messages and other events of the network, also of both parts of a joined one; work
/// that another thread defers, and deadlines (the device's bell); signals of its object (placed_sleepers). What ends
/// a follower's: signals of its object; the end of the leader's sleep (waiting_line).
class long_wait final : public sleeping_place {
 public:
  explicit long_wait(device* d) : device_(d) {}
  ~long_wait() {
    if (LCI_UNLIKELY(followed_)) device_->line.pass_on();
  }
  long_wait(const long_wait&) = delete;
  long_wait& operator=(const long_wait&) = delete;

  /// Sleeps. `sleep(ns)` is that of the object: it must return at once if the object is ready. False: the thread must
  /// not sleep for long now, and has not slept.
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
