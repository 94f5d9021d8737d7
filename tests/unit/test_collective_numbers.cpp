// Tests that a collective operation sends only when all earlier ones that use the same tags have ended.
#include "lib/core/device/collective_numbers.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

using lci::core::collective_numbers;

namespace {
constexpr uint32_t distinct = collective_numbers::n_distinct;
}

TEST_CASE("a collective operation waits for earlier ones although a number that is not due was taken back", "[unit]") {
  lci::deferred_queue deferred;
  collective_numbers numbers(deferred);
  for (uint32_t i = 0; i < 2 * distinct; ++i) REQUIRE(numbers.next() == i);
  numbers.take_back(distinct);  // by a thread that could not begin; another one has begun the next
  numbers.take_back(distinct + 1);
  for (uint32_t i = 0; i < distinct / 2 - 1; ++i) numbers.end(i);
  CHECK_FALSE(numbers.may_send(distinct + 2));
  numbers.end(distinct / 2 - 1);
  CHECK(numbers.may_send(distinct + 2));
  CHECK_FALSE(numbers.may_send(distinct + distinct / 2));
  for (uint32_t i = distinct / 2; i < 2 * distinct; ++i)
    if (i != distinct && i != distinct + 1) numbers.end(i);
  CHECK(numbers.may_send(numbers.next()));
}

TEST_CASE("numbers of collective operations continue after the last one was taken back", "[unit]") {
  lci::deferred_queue deferred;
  collective_numbers numbers(deferred);
  for (uint32_t i = 0; i < 5 * distinct; ++i) {
    CHECK(numbers.next() == i);
    numbers.take_back(i);
    CHECK(numbers.next() == i);
    CHECK(numbers.may_send(i));
    numbers.end(i);
  }
}
