// Schedules of biased_lock, whose owner's stores may pass its later loads.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "lib/concurrent/biased_lock.hpp"
#include "tests/model/scheduler.hpp"
#include "tests/model/store_buffers.hpp"
#include "tests/support/testing.hpp"

namespace {

using lci_model::buffered;
using lci_model::buffers;
using lci_model::explore;
using lci_model::modelled_process;
using lci_model::scheduler;
using lci_model::schedules;

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
