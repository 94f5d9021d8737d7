// Schedules of biased_lock. Its owner's stores may pass its later loads, as on x86: each fiber has a buffer of stores,
// which reach memory later, in their order, unless the fiber executes a read-modify-write or a process barrier.
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "lib/concurrent/biased_lock.hpp"
#include "tests/model/scheduler.hpp"
#include "tests/support/testing.hpp"

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
  T exchange(T v, std::memory_order) {
    scheduler::step();
    buffers.empty_mine();
    const T before = std::exchange(value_, v);
    scheduler::step();
    return before;
  }

 private:
  T value_{};
};

}  // namespace lci_model

namespace {

using lci_model::buffered;
using lci_model::buffers;
using lci_model::explore;
using lci_model::scheduler;
using lci_model::schedules;

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

/// One fiber uses the lock often enough to become its owner, several times; the others sometimes.
template <class System>
std::string of_owner_and_others(bool others_try) {
  return explore(schedules, [&](scheduler& s) -> std::function<std::string()> {
    struct state {
      lci::basic_biased_lock<buffered, System> lock;
      int inside = 0;
      int turns = 0;
      int expected = 0;
      void use() {
        scheduler::check(inside++ == 0, "two holders");
        scheduler::step();
        ++turns;
        --inside;
        lock.unlock();
      }
    };
    static uint64_t seed = 0;
    buffers.begin(++seed);
    auto all = std::make_shared<state>();
    s.spawn([all] {
      for (int i = 0; i < 60; ++i, ++all->expected) {
        all->lock.lock();
        all->use();
      }
      buffers.empty_mine();
    });
    for (int n = 0; n < 2; ++n)
      s.spawn([all, others_try] {
        for (int i = 0; i < 90; ++i) scheduler::step();
        for (int i = 0; i < 3; ++i) {
          if (!others_try) all->lock.lock();
          if (others_try && !all->lock.try_lock()) continue;
          all->use();
          ++all->expected;
          for (int k = 0; k < 60; ++k) scheduler::step();
        }
        buffers.empty_mine();
      });
    return [all]() -> std::string {
      buffers.empty_all();
      if (all->turns != all->expected) return "turns were lost";
      if (!all->lock.try_lock()) return "the lock is held at the end";
      return {};
    };
  });
}

}  // namespace

TEST_CASE("a lock that is biased to a thread has one holder at a time", "[model]") {
  const bool others_try = GENERATE(false, true);
  CHECK(of_owner_and_others<modelled_process<true>>(others_try) == "");
}

TEST_CASE("without the barrier, a biased lock would have two holders", "[model]") {
  CHECK(of_owner_and_others<modelled_process<false>>(false).find("two holders") != std::string::npos);
}
