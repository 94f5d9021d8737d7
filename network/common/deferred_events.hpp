// Events that occurred outside of a poll, or that a poll could not report; the next poll reports them.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/cpu.hpp"
#include "network/fabric.hpp"

namespace lci::network {

/// Failures and departures of peers, and further lists of the device, which this object's mutex protects. Thread-safe.
class deferred_events {
 public:
  /// Checked by each poll.
  bool any() const { return any_.load(std::memory_order_acquire); }

  template <class T, class Iterator>
  void add(std::vector<T>& list, Iterator begin, Iterator end) {
    std::lock_guard guard(mutex_);
    list.insert(list.end(), begin, end);
    any_.store(true, std::memory_order_release);
  }
  template <class T>
  void add(std::vector<T>& list, T one) {
    add(list, &one, &one + 1);
  }
  void add_failure(int peer, std::string reason) { add(failures_, failure{peer, std::move(reason), true}); }
  /// The peer has freed its device.
  void add_end(int peer) { add(failures_, failure{peer, {}, false}); }

  /// Call before reporting the lists. A later poll reports what is added afterwards.
  void begin_report() { any_.store(false, std::memory_order_relaxed); }
  /// Calls `tell` for each entry, in order, and returns how many there were. If it throws, the rest stays in the list.
  template <class T, class F>
  int report(std::vector<T>& list, F tell) {
    rest<T> now{*this, list};
    {
      std::lock_guard guard(mutex_);
      now.all.swap(list);
    }
    while (now.next < now.all.size()) tell(now.all[now.next++]);
    now.over = true;
    return static_cast<int>(now.all.size());
  }
  int report_failures(event_sink& sink) {
    return report_failures(sink, [](int) { return true; });
  }
  /// Reports the peers for which `may_be_told(peer)` is true; the others stay.
  template <class F>
  int report_failures(event_sink& sink, F may_be_told) {
    int told = 0;
    report(failures_, [&](const failure& f) {
      if (!may_be_told(f.peer)) return add(failures_, f);
      ++told;
      f.has_failed ? sink.on_peer_failure(f.peer, f.reason.c_str()) : sink.on_device_end(f.peer);
    });
    return told;
  }

 private:
  struct failure {
    int peer;
    std::string reason;
    bool has_failed;  // if not, the peer has freed its device
  };
  template <class T>
  struct rest {
    deferred_events& of;
    std::vector<T>& list;
    std::vector<T> all;
    size_t next = 0;
    bool over = false;
    ~rest() {
      if (LCI_LIKELY(over)) return;
      std::lock_guard guard(of.mutex_);
      list.insert(list.begin(), all.begin() + static_cast<ptrdiff_t>(next), all.end());
      of.any_.store(true, std::memory_order_release);  // also covers the lists not yet reported
    }
  };

  // Reading any_ may be relaxed, as the mutex orders the lists: who clears it takes everything added before.
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<failure> failures_;  // under mutex_
};

}  // namespace lci::network
