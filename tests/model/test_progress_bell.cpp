// Schedules of a thread that sleeps while there is no work, and of threads that give it work.
#include <catch2/catch.hpp>
#include <memory>

#include "lib/concurrent/progress_bell.hpp"
#include "tests/model/scheduler.hpp"
#include "tests/support/testing.hpp"

namespace {

using lci_model::atom;
using lci_model::explore;
using lci_model::futex;
using lci_model::scheduler;
using lci_model::schedules;

/// park() and unpark() as in network/shm: a flag, and a futex word.
struct place {
  void unpark() {
    unparked.store(true);
    bell.fetch_add(1);
    futex::wake_all(&bell);
  }
  void park() {
    const uint32_t seen = bell.load();
    if (unparked.exchange(false)) return;
    futex::wait(&bell, seen, -1);
  }
  atom<bool> unparked{false};
  atom<uint32_t> bell{0};
};

/// The state that all fibers of a schedule share.
struct shared {
  lci::progress_bell<atom> bell;
  place where;
  atom<int> work{0};
};

/// `givers` fibers add `each` pieces of work. With `looks_first` the sleeper looks for work before it announces its
/// sleep, which is the bug that the bell prevents.
auto left_work(int givers, int each, bool looks_first) {
  return [=](scheduler& s) -> std::function<std::string()> {
    auto all = std::make_shared<shared>();
    for (int g = 0; g < givers; ++g)
      s.spawn([=] {
        for (int i = 0; i < each; ++i) {
          all->work.fetch_add(1);
          all->bell.ring(all->where);
        }
      });
    s.spawn([=] {
      for (int done = 0; done < givers * each;) {
        done += all->work.exchange(0);
        if (done == givers * each) break;
        const bool idle_before = all->work.load() == 0;
        all->bell.announce();
        if (looks_first ? idle_before : all->work.load() == 0) all->where.park();
        all->bell.leave();
      }
    });
    return {};
  };
}

}  // namespace

TEST_CASE("model: no thread sleeps while there is work, whenever it was added") {
  CHECK(explore(schedules, left_work(1, 4, false)) == "");
  CHECK(explore(schedules, left_work(3, 2, false)) == "");
}

TEST_CASE("model: the scheduler finds a sleeper that looks for work too early") {
  CHECK(explore(schedules, left_work(1, 4, true)) != "");
}
