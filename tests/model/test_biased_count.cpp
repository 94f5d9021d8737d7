// Schedules of biased_count, whose owner's stores may pass its later loads.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "lib/concurrent/biased_count.hpp"
#include "tests/model/scheduler.hpp"
#include "tests/model/store_buffers.hpp"
#include "tests/support/testing.hpp"

namespace {

using lci_model::buffered;
using lci_model::buffers;
using lci_model::explore;
using lci_model::scheduler;
using lci_model::schedules;

/// The owner and another fiber use something again and again until they see its end. A third fiber ends it, waits until
/// nobody is inside, and takes it away.
template <class System>
std::string of_users_and_an_end() {
  return explore(schedules, [&](scheduler& s) -> std::function<std::string()> {
    struct state {
      lci::basic_biased_count<buffered, System> users;
      buffered<bool> ending{false};
      bool is_there = true;
      int uses = 0;
    };
    static uint64_t seed = 0;
    buffers.begin(++seed);
    auto all = std::make_shared<state>();
    for (int n = 0; n < 2; ++n)
      s.spawn([all] {
        for (bool over = false; !over;) {
          const bool owned = all->users.enter();
          over = all->ending.load(std::memory_order_seq_cst);
          if (!over) {
            scheduler::check(all->is_there, "it was taken away from a user");
            scheduler::step();
            scheduler::check(all->is_there, "it was taken away from a user");
            ++all->uses;
          }
          all->users.leave(owned);
          buffers.empty_mine();
        }
      });
    s.spawn([all] {
      for (int i = 0; i < 40; ++i) scheduler::step();
      all->ending.store(true, std::memory_order_seq_cst);
      buffers.empty_mine();
      all->users.order_end();
      while (!all->users.is_zero()) scheduler::step();
      all->is_there = false;
    });
    return [all]() -> std::string {
      buffers.empty_all();
      if (!all->users.is_zero()) return "a user is counted at the end";
      return {};
    };
  });
}

}  // namespace

TEST_CASE("nothing that a biased count counts users of is taken away from a user", "[model]") {
  CHECK(of_users_and_an_end<lci_model::modelled_process<true>>() == "");
}

TEST_CASE("without the barrier, something would be taken away from a user of a biased count", "[model]") {
  const std::string failure = of_users_and_an_end<lci_model::modelled_process<false>>();
  CHECK(failure.find("taken away from a user") != std::string::npos);
}
