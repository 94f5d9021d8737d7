// The peers or connections of a device to which queued data is to be sent.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "network/common/ring.hpp"

namespace lci::network {

/// A list of peers or connections. A member of a device. Thread-safe. flush() allocates nothing.
template <class T>
class waiting_list {
 public:
  /// Checked by each poll. True also while entries are being flushed.
  bool any() const { return n_.load(std::memory_order_relaxed) != 0; }
  /// As any(), for a thread that has announced, by a sequentially consistent store, that it will sleep.
  bool any_before_sleep() const { return n_.load(std::memory_order_seq_cst) != 0; }
  /// Reserves space for `n` entries, up to which add() needs no memory. Throws std::bad_alloc.
  void reserve(size_t n) {
    std::lock_guard guard(lock_);
    entries_.reserve(n);
  }
  /// The caller ensures that each entry is there once. Throws std::bad_alloc, and has no effect then.
  void add(T one) {
    std::lock_guard guard(lock_);
    const size_t n = n_.load(std::memory_order_relaxed) + 1;
    entries_.reserve(n);  // including the entries that flush() has taken
    entries_.push_back(one);
    n_.store(n, std::memory_order_seq_cst);
  }
  /// Calls `send(entry)` for each entry; those for which it returns true, or throws, still wait.
  template <class F>
  void flush(F send) {
    struct taken {
      waiting_list& of;
      T entry{};
      bool waits = true;
      ~taken() { of.put_back(entry, waits); }
    };
    for (size_t left = size(); left > 0; --left) {
      T next{};
      if (!take(next)) return;
      taken now{*this, next};
      now.waits = send(next);
    }
  }
  template <class F>
  bool all_of(F f) {
    std::lock_guard guard(lock_);
    for (size_t i = 0; i < entries_.size(); ++i)
      if (!f(entries_[i])) return false;
    return true;
  }

 private:
  size_t size() {
    std::lock_guard guard(lock_);
    return entries_.size();
  }
  bool take(T& one) {
    std::lock_guard guard(lock_);
    if (entries_.size() == 0) return false;
    one = entries_.pop_front();
    return true;
  }
  void put_back(T one, bool waits) {
    std::lock_guard guard(lock_);
    if (waits)
      entries_.push_back(one);
    else
      n_.store(n_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

  spinlock lock_;
  ring<T> entries_;           // under lock_
  std::atomic<size_t> n_{0};  // changed under lock_: the entries, including those taken by flush()
};

}  // namespace lci::network
