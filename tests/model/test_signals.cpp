// Schedules of synchronizers and counters: signals, tests and sleepers.
#include <catch2/catch.hpp>
#include <memory>
#include <new>

#include "lib/concurrent/signal_array.hpp"
#include "lib/concurrent/signal_cell.hpp"
#include "lib/concurrent/signal_counter.hpp"
#include "tests/model/scheduler.hpp"
#include "tests/support/testing.hpp"

namespace {

using lci_model::atom;
using lci_model::explore;
using lci_model::futex;
using lci_model::scheduler;
using lci_model::schedules;

using cell = lci::signal_cell<uint64_t, atom, futex>;
using array = lci::signal_array<uint64_t, atom, futex>;
using counter = lci::signal_counter<atom, futex>;

/// An object whose memory is kept after its destruction, so that the scheduler detects late accesses.
template <class T>
struct kept_memory {
  template <class... Args>
  explicit kept_memory(Args... args) : object(new (memory) T(args...)) {}
  ~kept_memory() {
    if (object) object->~T();
  }
  void destroy() {
    object->~T();
    object = nullptr;
  }
  alignas(T) unsigned char memory[sizeof(T)];
  T* object;
};

// `signallers` fibers signal `each` values; `takers` fibers take them in rounds of `threshold`.
template <class Object>
auto rounds(std::function<std::shared_ptr<Object>()> make, size_t threshold, size_t signallers, size_t each,
            size_t takers, int64_t timeout) {
  return [=](scheduler& s) -> std::function<std::string()> {
    auto object = make();
    auto seen = std::make_shared<std::vector<int>>(signallers * each);
    for (size_t p = 0; p < signallers; ++p)
      s.spawn([=] {
        for (size_t n = 0; n < each; ++n) object->put(p * each + n);
      });
    for (size_t t = 0; t < takers; ++t)
      s.spawn([=] {
        for (size_t n = 0; n < signallers * each / threshold / takers;) {
          uint64_t values[8];
          if (!object->take(values)) {
            object->sleep(timeout);
            continue;
          }
          ++n;
          for (size_t i = 0; i < threshold; ++i) {
            scheduler::check(values[i] < seen->size(), "a value that was not signalled");
            ++(*seen)[values[i]];
          }
        }
      });
    return [=]() -> std::string {
      for (int n : *seen)
        if (n != 1) return n == 0 ? "a signal was lost" : "a signal was taken twice";
      return object->is_ready() ? "ready at the end" : "";
    };
  };
}

auto one_cell = [] { return std::make_shared<cell>(); };

}  // namespace

TEST_CASE("model: synchronizer of one signal loses none, and wakes its sleepers") {
  CHECK(explore(schedules, rounds<cell>(one_cell, 1, 1, 4, 1, -1)) == "");
  CHECK(explore(schedules, rounds<cell>(one_cell, 1, 3, 2, 1, -1)) == "");
  CHECK(explore(schedules, rounds<cell>(one_cell, 1, 2, 3, 2, -1)) == "");
  CHECK(explore(schedules, rounds<cell>(one_cell, 1, 2, 3, 3, 1000)) == "");
}

TEST_CASE("model: synchronizer of n signals loses none, and wakes its sleepers") {
  for (size_t n : {2, 3}) {
    auto make = [n] { return std::make_shared<array>(n); };
    CHECK(explore(schedules, rounds<array>(make, n, n, 3, 1, -1)) == "");
    CHECK(explore(schedules, rounds<array>(make, n, 2, 2 * n, 2, -1)) == "");
    CHECK(explore(schedules, rounds<array>(make, n, 3, 2 * n, 3, 1000)) == "");
  }
}

TEST_CASE("model: counter counts each signal, and wakes fibers that wait for a number") {
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          auto c = std::make_shared<counter>();
          for (int p = 0; p < 2; ++p)
            s.spawn([=] {
              for (int i = 0; i < 4; ++i) c->add_one();
            });
          for (int64_t target : {3, 8, 8})
            s.spawn([=] {
              while (c->get() < target) c->sleep(target, -1);
            });
          return [=]() -> std::string { return c->get() == 8 ? "" : "wrong sum"; };
        }) == "");
}

TEST_CASE("model: counter wakes its sleepers when it is set") {
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          auto c = std::make_shared<counter>();
          s.spawn([=] {
            c->set(-5);
            c->set(2);
            c->add_one();
          });
          s.spawn([=] {
            while (c->get() < 3) c->sleep(3, -1);
          });
          return {};
        }) == "");
}

TEST_CASE("model: a fiber that has taken the last signal may destroy the object") {
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          auto m = std::make_shared<kept_memory<cell>>();
          cell* c = m->object;
          for (int p = 0; p < 2; ++p) s.spawn([=] { c->put(1); });
          s.spawn([=] {
            for (int n = 0; n < 2;) c->take(nullptr) ? (void)++n : c->sleep(-1);
            m->destroy();
          });
          return {};
        }) == "");
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          auto m = std::make_shared<kept_memory<array>>(size_t{2});
          array* a = m->object;
          for (int p = 0; p < 2; ++p) s.spawn([=] { a->put(1); });
          s.spawn([=] {
            while (!a->take(nullptr)) a->sleep(-1);
            m->destroy();
          });
          return {};
        }) == "");
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          auto m = std::make_shared<kept_memory<counter>>();
          counter* c = m->object;
          for (int p = 0; p < 2; ++p) s.spawn([=] { c->add_one(); });
          s.spawn([=] {
            while (c->get() < 2) c->sleep(2, -1);
            m->destroy();
          });
          return {};
        }) == "");
}

namespace {

/// Reads `sleepers` after it has set `ready`, when the object may have been destroyed.
struct late_reader {
  void put() {
    ready.store(1);
    if (sleepers.load() != 0) futex::wake_all(&ready);
  }
  atom<uint32_t> ready{0}, sleepers{0};
};

}  // namespace

TEST_CASE("model: the scheduler finds a signaller that reads the object after it may be destroyed") {
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          auto m = std::make_shared<kept_memory<late_reader>>();
          late_reader* o = m->object;
          s.spawn([=] { o->put(); });
          s.spawn([=] {
            while (!o->ready.load()) scheduler::step();
            m->destroy();
          });
          return {};
        }) != "");
}
