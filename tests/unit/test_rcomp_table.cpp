#include <catch2/catch.hpp>

#include "lci/completion.hpp"
#include "lci/errors.hpp"
#include "lib/core/runtime/rcomp_table.hpp"
#include "tests/unit/threads.hpp"

namespace {
struct nothing final : lci::comp_impl_t {
  void signal(lci::status_t) override {}
};
constexpr uint32_t generation = 1u << 24;
using lci::core::rcomp_table;
}  // namespace

TEST_CASE("remote completions: handles start at 1, and objects are found by them") {
  rcomp_table table;
  nothing a, b;
  CHECK(table.add(&a) == 1);
  CHECK(table.add(&b) == 2);
  CHECK(table.lookup(1) == &a);
  CHECK(table.lookup(2) == &b);
}

TEST_CASE("remote completions: no object is found by unknown and invented handles") {
  rcomp_table table;
  nothing a;
  CHECK(table.lookup(0) == nullptr);
  CHECK(table.lookup(1) == nullptr);
  table.add(&a);
  // The underlying array has 16 entries; these indices map to the same one.
  for (uint32_t bad : {17u, 33u, 1u + generation, 1u + 255 * generation, 0xffffffffu, 0x00ffffffu})
    CHECK(table.lookup(bad) == nullptr);
}

TEST_CASE("remote completions: the allocator of a registration is found by its handle") {
  struct some_allocator final : lci::allocator_base_t {
    void* allocate(size_t) override { return nullptr; }
    void deallocate(void*) override {}
  } first, second;
  rcomp_table table;
  nothing a;
  const lci::rcomp_t one = table.add(&a, &first);
  CHECK(table.find_target(one).comp == &a);
  CHECK(table.find_target(one).allocator == &first);
  table.reserve(1);
  table.add_reserved(&a, 2, &second);
  CHECK(table.find_target(2).allocator == &second);
  table.remove(one);
  CHECK(table.find_target(one).comp == nullptr);
  const lci::rcomp_t again = table.add(&a);
  CHECK(table.find_target(again).comp == &a);
  CHECK(table.find_target(again).allocator == nullptr);
}

TEST_CASE("remote completions: a deregistered handle is stale, and its index is reused") {
  rcomp_table table(0);
  nothing a, b;
  const lci::rcomp_t first = table.add(&a);
  table.remove(first);
  CHECK(table.lookup(first) == nullptr);
  const lci::rcomp_t second = table.add(&b);
  CHECK(second == first + generation);
  CHECK(table.lookup(first) == nullptr);
  CHECK(table.lookup(second) == &b);
  CHECK_THROWS_AS(table.remove(first), lci::invalid_argument_error);
  CHECK_THROWS_AS(table.remove(0), lci::invalid_argument_error);
  CHECK_THROWS_AS(table.remove(99), lci::invalid_argument_error);
  table.remove(second);
  CHECK_THROWS_AS(table.remove(second), lci::invalid_argument_error);
}

TEST_CASE("remote completions: an object may be freed before it is deregistered, which counts once") {
  rcomp_table table(0);
  nothing a, b;
  const lci::rcomp_t first = table.add(&a), second = table.add(&a);
  rcomp_table::end_all_of(&a);
  CHECK(table.lookup(first) == nullptr);
  const lci::rcomp_t reused = table.add(&b);
  CHECK(reused == first + generation);
  table.remove(first);
  table.remove(second);
  CHECK_THROWS_AS(table.remove(first), lci::invalid_argument_error);
  CHECK_THROWS_AS(table.remove(second), lci::invalid_argument_error);
  CHECK(table.lookup(reused) == &b);
  // All generations later the handle names another registration, which ends when it is deregistered.
  rcomp_table::end_all_of(&b);
  lci::rcomp_t again = 0;
  while ((again = table.add(&a)) != reused) table.remove(again);
  CHECK(table.lookup(reused) == &a);
  table.remove(reused);
  CHECK(table.lookup(reused) == nullptr);
  CHECK_THROWS_AS(table.remove(reused), lci::invalid_argument_error);
}

TEST_CASE("remote completions: ranks that register in one order agree, whatever the order of deregistrations") {
  rcomp_table at_one_rank, at_another;
  nothing a;
  // Three threads of each rank: here one after the other, there at the same time, ending in another order.
  for (int t = 0; t < 3; ++t) at_one_rank.remove(at_one_rank.add(&a));
  const lci::rcomp_t all[] = {at_another.add(&a), at_another.add(&a), at_another.add(&a)};
  for (const int t : {1, 2, 0}) at_another.remove(all[t]);
  for (uint32_t i = 3; i < rcomp_table::n_never_reused; ++i) REQUIRE(at_one_rank.add(&a) == at_another.add(&a));
  CHECK(at_one_rank.add(&a) == 1 + generation);
  CHECK(at_another.add(&a) == 2 + generation);
}

TEST_CASE("remote completions: an index goes through all generations") {
  rcomp_table table(0);
  nothing a;
  for (uint32_t g = 0; g < 600; ++g) {
    const lci::rcomp_t r = table.add(&a);
    REQUIRE(r == 1 + (g % 256) * generation);
    REQUIRE(table.lookup(r) == &a);
    table.remove(r);
    REQUIRE(table.lookup(r) == nullptr);
  }
}

TEST_CASE("remote completions: reserved handles are consecutive and can be used in any order") {
  rcomp_table table(0);
  nothing a, b, c;
  CHECK(table.add(&a) == 1);
  CHECK(table.reserve(40) == 2);
  CHECK(table.add(&a) == 42);
  CHECK(table.lookup(3) == nullptr);
  table.add_reserved(&b, 41);
  table.add_reserved(&c, 2);
  CHECK(table.lookup(41) == &b);
  CHECK(table.lookup(2) == &c);
  CHECK_THROWS_AS(table.add_reserved(&b, 41), lci::invalid_argument_error);
  CHECK_THROWS_AS(table.add_reserved(&b, 1), lci::invalid_argument_error);
  CHECK_THROWS_AS(table.add_reserved(&b, 43), lci::invalid_argument_error);
  CHECK_THROWS_AS(table.reserve(0), lci::invalid_argument_error);
  CHECK_THROWS_AS(table.reserve(1u << 24), lci::invalid_argument_error);
  table.remove(10);  // a reservation that was not used
  CHECK(table.add(&b) == 10 + generation);
}

TEST_CASE("remote completions: lookups find the right object or none during registrations of others") {
  rcomp_table table(0);
  constexpr int n = 20000 / lci_test::time_scale;
  nothing stays;
  const lci::rcomp_t fixed = table.add(&stays);
  std::atomic<bool> stop{false};
  auto bad = lci_test::in_threads(4, [&](int t) {
    int wrong = 0;
    if (t < 2) {
      nothing mine;
      for (int i = 0; i < n; ++i) {
        const lci::rcomp_t r = table.add(&mine);
        wrong += table.lookup(r) != &mine;
        table.remove(r);
        wrong += table.lookup(r) == &mine;
      }
      stop = true;
    } else {
      while (!stop) {
        wrong += table.lookup(fixed) != &stays;
        wrong += table.lookup(fixed + generation) != nullptr;
      }
    }
    return wrong;
  });
  for (int b : bad) CHECK(b == 0);
}
