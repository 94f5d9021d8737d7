// A processor whose stores may pass later loads, as on x86, for models of what relies on process barriers: each fiber
// has a buffer of stores, which reach memory later, in their order, unless the fiber executes a read-modify-write or a
// process barrier.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <utility>

#include "tests/model/scheduler.hpp"

namespace lci_model {

/// Stores that have not reached memory, by fiber. The fiber with number 0 is the test itself.
class store_buffers {
 public:
  struct store {
    const void* where;
    uint64_t value;
    std::function<void()> write;
  };
  void add(store s) { mine().push_back(std::move(s)); }
  /// The fiber's own latest store to this place, or null.
  const store* latest(const void* where) {
    const auto& stores = mine();
    for (auto s = stores.rbegin(); s != stores.rend(); ++s)
      if (s->where == where) return &*s;
    return nullptr;
  }
  void empty_mine() { empty(mine()); }
  void empty_all() {
    for (auto& stores : of_) empty(stores);
  }
  /// Sometimes the oldest store of a fiber reaches memory.
  void leak() {
    auto& stores = of_[random_() % of_.size()];
    if (stores.empty() || random_() % 4 != 0) return;
    stores.front().write();
    stores.pop_front();
  }
  void begin(uint64_t seed) {
    random_.seed(seed);
    for (auto& stores : of_) stores.clear();
  }

 private:
  using queue = std::deque<store>;
  queue& mine() { return of_[scheduler::number()]; }
  static void empty(queue& stores) {
    for (const store& s : stores) s.write();
    stores.clear();
  }
  std::mt19937_64 random_;
  std::array<queue, 8> of_;
};
inline store_buffers buffers;

/// An atomic behind store buffers.
template <class T>
class buffered {
 public:
  buffered() = default;
  explicit buffered(T v) : value_(v) {}
  T load(std::memory_order) const {
    scheduler::step();
    buffers.leak();
    const store_buffers::store* const own = buffers.latest(this);
    const T seen = own != nullptr ? static_cast<T>(own->value) : value_;
    scheduler::step();
    return seen;
  }
  void store(T v, std::memory_order) {
    scheduler::step();
    buffers.add({this, static_cast<uint64_t>(v), [this, v] { value_ = v; }});
    scheduler::step();
  }
  T exchange(T v, std::memory_order order) {
    return exchange_by([v](T) { return v; }, order);
  }
  T fetch_add(T n, std::memory_order order) {
    return exchange_by([n](T v) { return static_cast<T>(v + n); }, order);
  }
  T fetch_sub(T n, std::memory_order order) {
    return exchange_by([n](T v) { return static_cast<T>(v - n); }, order);
  }
  bool compare_exchange_strong(T& expected, T v, std::memory_order order, std::memory_order) {
    const T wanted = expected;
    expected = exchange_by([=](T now) { return now == wanted ? v : now; }, order);
    return expected == wanted;
  }

 private:
  template <class F>
  T exchange_by(F next, std::memory_order) {
    scheduler::step();
    buffers.empty_mine();
    const T before = value_;
    value_ = next(before);
    scheduler::step();
    return before;
  }
  T value_{};
};

/// The process of the fibers; without a barrier, locks and counts that are biased must fail.
template <bool is_barrier>
struct modelled_process {
  static bool is_possible() { return true; }
  static void execute() {
    scheduler::step();
    if (is_barrier) buffers.empty_all();
    scheduler::step();
  }
  static uintptr_t this_thread() { return (scheduler::number() + 1) * 8; }
};

}  // namespace lci_model
