// Large copies go upwards and downwards, and copy all bytes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "lib/base/copy_large.hpp"
#include "tests/support/testing.hpp"

using lci::copy_choice;
using lci::copy_choices;
using lci::copy_direction;
using lci::copy_order;
using lci::copy_rule;
using lci::copy_way;
using lci::large_copy;
using lci::vector_copy;

namespace {

std::vector<unsigned char> numbered(size_t n, unsigned first) {
  std::vector<unsigned char> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<unsigned char>(first + i + i / 251);
  return out;
}

/// Copies `size` bytes between addresses that are these offsets behind a cache line. Returns whether all bytes arrived,
/// and no byte before or behind them was written.
bool is_complete(void (*copy)(void*, const void*, size_t), size_t to_offset, size_t from_offset, size_t size) {
  constexpr size_t guard = 64;
  constexpr unsigned char untouched = 0xa5;
  alignas(64) static unsigned char from[2048], to[2048];
  const std::vector<unsigned char> data = numbered(size, static_cast<unsigned>(size + to_offset + from_offset));
  if (size > 0) std::memcpy(from + from_offset, data.data(), size);
  std::memset(to, untouched, sizeof to);
  unsigned char* const begin = to + guard + to_offset;
  copy(begin, from + from_offset, size);
  const auto is_untouched = [](unsigned char c) { return c == untouched; };
  return std::equal(data.begin(), data.end(), begin) && std::all_of(to, begin, is_untouched) &&
         std::all_of(begin + size, std::end(to), is_untouched);
}

/// The copies of a machine on which a copy by each way takes this time. Returns how many of `n` went by vectors.
int by_vectors(copy_choice& choice, int n, const std::function<float(copy_way)>& time_of) {
  int count = 0;
  for (int i = 0; i < n; ++i) {
    const copy_way way = choice.next();
    count += way == copy_way::vectors ? 1 : 0;
    if (choice.is_measured()) choice.took(time_of(way));
  }
  return count;
}

}  // namespace

TEST_CASE("a copy between the same places goes the other way than the one before", "[copy_large]") {
  copy_direction way;
  char a = 0, b = 0, c = 0;
  CHECK(way.next(&a, &b) == copy_order::usual);
  CHECK(way.next(&a, &b) == copy_order::down);
  CHECK(way.next(&a, &b) == copy_order::up);
  CHECK(way.next(&a, &b) == copy_order::down);
  CHECK(way.next(&a, &c) == copy_order::usual);  // another source
  CHECK(way.next(&b, &c) == copy_order::usual);  // another target
  CHECK(way.next(&b, &c) == copy_order::down);
}

TEST_CASE("copies of any size are complete in both directions", "[copy_large]") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{8192}, size_t{8193}, size_t{16384}, size_t{16385},
                            size_t{40000}, size_t{131071}, size_t{131072}, size_t{300001}}) {
    INFO(size << " bytes");
    std::vector<unsigned char> from = numbered(size + 2, 1), to(size + 2, 0);
    large_copy::copy_down(to.data() + 1, from.data() + 1, size);
    CHECK(std::memcmp(to.data() + 1, from.data() + 1, size) == 0);
    CHECK((to.front() == 0 && to.back() == 0));
    from = numbered(size + 2, 77);
    large_copy::copy_up(to.data() + 1, from.data() + 1, size);
    CHECK(std::memcmp(to.data() + 1, from.data() + 1, size) == 0);
    CHECK((to.front() == 0 && to.back() == 0));
    for (unsigned turn = 2; turn < 5; ++turn) {  // up and down
      from = numbered(size + 2, turn);
      unsigned char* const source = from.data();
      large_copy::copy(to.data() + 1, source + 1, size);
      CHECK(std::memcmp(to.data() + 1, source + 1, size) == 0);
      CHECK((to.front() == 0 && to.back() == 0));
    }
  }
}

TEST_CASE("bytes are moved between ranges that overlap, also again and again", "[copy_large]") {
  constexpr size_t size = 100000;
  for (const size_t distance : {size_t{1}, size_t{5000}, size - 1}) {
    INFO("distance " << distance);
    const std::vector<unsigned char> whole = numbered(2 * size, 7);
    for (const bool upwards : {true, false}) {
      std::vector<unsigned char> at = whole;
      const size_t from = upwards ? 0 : distance, to = upwards ? distance : 0;
      for (int turn = 0; turn < 3; ++turn) {
        std::memcpy(at.data(), whole.data(), whole.size());
        large_copy::copy(at.data() + to, at.data() + from, size);
        CHECK(std::memcmp(at.data() + to, whole.data() + from, size) == 0);
      }
    }
  }
}

TEST_CASE("vectors copy any length between any addresses, upwards and downwards", "[copy_large]") {
  if (!vector_copy::is_usable()) return lci_test::skip("the processor has no AVX2");
  for (size_t size = 0; size <= 420; ++size)
    for (size_t to = 0; to < 64; to += size % 4 == 0 ? 1 : 7)
      for (const size_t from : {size_t{0}, size_t{1}, size_t{31}, size_t{32}, (to + 5) % 64, to}) {
        INFO(size << " bytes, " << from << " -> " << to);
        REQUIRE(is_complete(vector_copy::up, to, from, size));
        REQUIRE(is_complete(vector_copy::down, to, from, size));
      }
}

TEST_CASE("copies go by vectors where these are faster", "[copy_large]") {
  copy_choice choice;
  const auto time_of = [](copy_way way) { return way == copy_way::vectors ? 0.9F : 1.0F; };
  CHECK(choice.next() == copy_way::pieces);  // the first ones
  by_vectors(choice, 255, time_of);
  CHECK(by_vectors(choice, 100000, time_of) > 99000);
}

TEST_CASE("copies by vectors are tried rarely where memcpy() is faster", "[copy_large]") {
  copy_choice choice;
  const auto time_of = [](copy_way way) { return way == copy_way::vectors ? 1.5F : 1.0F; };
  CHECK(by_vectors(choice, 256, time_of) <= 12);
  CHECK(by_vectors(choice, 100000, time_of) < 500);
}

TEST_CASE("copies take another way when the machine changes", "[copy_large]") {
  copy_choice choice;
  float vectors = 1.2F;
  const auto time_of = [&](copy_way way) { return way == copy_way::vectors ? vectors : 1.0F; };
  by_vectors(choice, 50000, time_of);
  vectors = 0.8F;
  by_vectors(choice, 5000, time_of);
  CHECK(by_vectors(choice, 1000, time_of) > 900);
  vectors = 1.2F;
  by_vectors(choice, 5000, time_of);
  CHECK(by_vectors(choice, 1000, time_of) < 100);
}

TEST_CASE("interrupted copies do not change the way", "[copy_large]") {
  copy_choice choice;
  int copies = 0;
  // Every 20th measured copy takes a hundred times as long.
  const auto time_of = [&](copy_way way) {
    return (way == copy_way::vectors ? 0.9F : 1.0F) * (++copies % 20 == 0 ? 100.0F : 1.0F);
  };
  by_vectors(choice, 256, time_of);
  CHECK(by_vectors(choice, 100000, time_of) > 95000);
}

TEST_CASE("each power of two has a way of its own", "[copy_large]") {
  copy_choices all;
  CHECK(&all.of(16385) == &all.of(32767));
  CHECK(&all.of(32767) != &all.of(32768));
  CHECK(&all.of(size_t{2} << 20) != &all.of(size_t{1} << 20));
  CHECK(&all.of(size_t{4} << 20) == &all.of(size_t{4} << 30));
}

TEST_CASE("copies between the same places are complete whatever way is tried", "[copy_large]") {
  constexpr size_t size = 20011;
  std::vector<unsigned char> from(size), to(size);
  for (unsigned turn = 0; turn < 2 * copy_choice::first_cycle; ++turn) {
    from[turn] = static_cast<unsigned char>(turn), from[size - 1 - turn] = static_cast<unsigned char>(turn + 1);
    large_copy::copy(to.data(), from.data(), size);
    REQUIRE(from == to);
  }
}

TEST_CASE("a rule decides how copies between the same places move", "[copy_large]") {
  if (!vector_copy::is_usable()) return lci_test::skip("the processor has no AVX2");
  constexpr size_t size = 30000;
  std::vector<unsigned char> from(size), to(size);
  const auto by_vectors = [&](int n) {
    int count = 0;
    for (int i = 0; i < n; ++i) {
      from[static_cast<size_t>(i)] ^= 1;
      count += large_copy::copy(to.data(), from.data(), size) ? 1 : 0;
      REQUIRE(from == to);
    }
    return count;
  };
  large_copy::set_rule(copy_rule::always_vectors);
  by_vectors(1);  // perhaps between other places than the copy before
  CHECK(by_vectors(20) == 20);
  large_copy::set_rule(copy_rule::always_pieces);
  CHECK(by_vectors(20) == 0);
  large_copy::set_rule(copy_rule::measured);
  by_vectors(static_cast<int>(copy_choice::first_cycle));
  // A copy that is small, or does not repeat the one before, is left to memmove().
  CHECK_FALSE(large_copy::copy(to.data(), from.data(), large_copy::largest_usual));
  CHECK_FALSE(large_copy::copy(from.data(), to.data(), size));
}
