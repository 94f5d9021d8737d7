// Events that occurred outside of a poll, or that a poll could not report; the next poll reports them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "lib/base/cpu.hpp"
#include "network/common/failure_text.hpp"
#include "network/common/ring.hpp"
#include "network/fabric.hpp"

namespace lci::network {

/// Failures and ends of peers, and further lists of the device. Thread-safe. Within the space reserved for a list,
/// add() allocates nothing, so an event that was removed from its source can't be lost.
class deferred_events {
 public:
  /// Belongs to the device that owns the `deferred_events`, whose mutex protects it.
  template <class T>
  class list {
    friend class deferred_events;
    ring<T> entries;
  };

  /// Checked by each poll.
  bool any() const { return any_.load(std::memory_order_acquire); }

  /// Reserves space for `n` entries altogether. Throws std::bad_alloc.
  template <class T>
  void reserve(list<T>& l, size_t n) {
    std::lock_guard guard(mutex_);
    l.entries.reserve(n);
  }
  /// Reserves space for one failure or end of each of `n` peers.
  void reserve_peers(size_t n) { reserve(gone_, n); }
  /// Reserves space for `n` more entries. Returns false if there is no memory for them.
  template <class T>
  bool make_space(list<T>& l, size_t n) {
    std::lock_guard guard(mutex_);
    try {
      l.entries.reserve(l.entries.size() + n);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  template <class T, class Iterator>
  void add(list<T>& l, Iterator begin, Iterator end) {
    std::lock_guard guard(mutex_);
    for (; begin != end; ++begin) l.entries.push_back(std::move(*begin));
    any_.store(true, std::memory_order_release);
  }
  template <class T>
  void add(list<T>& l, T one) {
    add(l, &one, &one + 1);
  }
  /// As add(), for an entry that can't be reported before another event: any() stays as it is.
  template <class T>
  void add_silently(list<T>& l, T one) {
    std::lock_guard guard(mutex_);
    l.entries.push_back(std::move(one));
  }
  /// The next poll reports what was added silently.
  void stir() { any_.store(true, std::memory_order_release); }
  void add_failure(int peer, const std::string& reason) { add(gone_, gone{peer, true, copy_if_memory(reason)}); }
  /// The peer has freed its device.
  void add_end(int peer) { add(gone_, gone{peer, false, nullptr}); }

  /// The frame of a poll: handles entries in order. If a handler throws, the list receives the rest.
  template <class T, class F>
  void handle_all(list<T>& l, const T* begin, const T* end, F handle) {
    struct rest {
      deferred_events& of;
      list<T>& l;
      const T *next, *end;
      ~rest() {
        if (LCI_UNLIKELY(next != end)) of.add(l, next, end);
      }
    } left{*this, l, begin, end};
    while (left.next != left.end) handle(*left.next++);
  }

  /// Call before reporting the lists. A later poll reports what is added afterwards.
  void begin_report() { any_.store(false, std::memory_order_relaxed); }
  /// Calls `tell` for each entry, in order, and returns how many there were. If it throws, the rest stays in the list.
  template <class T, class F>
  int report(list<T>& l, F tell) {
    pass now{*this};
    int n = 0;
    for (size_t left = size_of(l); left > 0; --left, ++n) {
      T one{};
      if (!take(l, one)) break;
      tell(one);
    }
    now.over = true;
    return n;
  }
  int report_failures(event_sink& sink) {
    return report_failures(sink, [](int) { return true; });
  }
  /// Reports the peers for which `may_be_reported(peer)` is true; the others stay.
  template <class F>
  int report_failures(event_sink& sink, F may_be_reported) {
    int reported = 0;
    report(gone_, [&](gone& g) {
      if (!may_be_reported(g.peer)) return add(gone_, std::move(g));
      ++reported;
      g.has_failed ? sink.on_peer_failure(g.peer, text_of(g.reason)) : sink.on_device_end(g.peer);
    });
    return reported;
  }

 private:
  struct gone {
    int peer;
    bool has_failed;  // if not, the peer has freed its device
    std::unique_ptr<std::string> reason;
  };
  struct pass {
    deferred_events& of;
    bool over = false;
    ~pass() {
      // Covers the rest of this list, and the lists not yet reported.
      if (LCI_UNLIKELY(!over)) of.any_.store(true, std::memory_order_release);
    }
  };
  template <class T>
  size_t size_of(list<T>& l) {
    std::lock_guard guard(mutex_);
    return l.entries.size();
  }
  /// Returns false if another thread has taken the last entry.
  template <class T>
  bool take(list<T>& l, T& one) {
    std::lock_guard guard(mutex_);
    if (l.entries.size() == 0) return false;
    one = l.entries.pop_front();
    return true;
  }

  // Reading any_ may be relaxed, as the mutex orders the lists: who clears it takes everything added before.
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  list<gone> gone_;  // under mutex_
};

}  // namespace lci::network
