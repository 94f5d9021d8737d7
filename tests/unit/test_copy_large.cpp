// Large copies go upwards and downwards, and copy all bytes.
#include <catch2/catch.hpp>

#include <cstring>
#include <vector>

#include "lib/base/copy_large.hpp"

using lci::copy_direction;
using lci::copy_order;
using lci::large_copy;

namespace {

std::vector<unsigned char> numbered(size_t n, unsigned first) {
  std::vector<unsigned char> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<unsigned char>(first + i + i / 251);
  return out;
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
