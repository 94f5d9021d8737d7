// Copies at all distances, also those at which the processor's own copy instruction is slow.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "lib/base/copy_bytes.hpp"
#include "network/shm/cma.hpp"
#include "tests/support/testing.hpp"

namespace {

constexpr size_t page = 4096;

struct alignas(page) one_page {
  unsigned char bytes[page];
};
/// Memory that begins at a page.
class pages {
 public:
  explicit pages(size_t n) : memory_(n) {
    for (size_t i = 0; i < n * page; ++i) begin()[i] = static_cast<unsigned char>(i * 7 + i / 251);
  }
  unsigned char* begin() { return memory_.front().bytes; }

 private:
  std::vector<one_page> memory_;
};

constexpr std::array<size_t, 13> distances{0, 1, 2, 8, 15, 16, 24, 31, 32, 33, 64, 4080, 4095};
constexpr std::array<size_t, 12> sizes{0, 1, 511, 2047, 2048, 2049, 2560, 2561, 4096, 9000, 32768, 70001};

/// Copies by `copy(to, from, size)`, and checks that it has written these bytes and no others.
template <class Copy>
bool is_right(pages& to, pages& from, size_t at, size_t size, Copy copy) {
  constexpr size_t guard = 64;
  unsigned char* const dest = to.begin() + page + at;
  std::memset(dest - guard, 0xee, size + 2 * guard);
  copy(dest, from.begin(), size);
  const auto is_guard = [](unsigned char c) { return c == 0xee; };
  return std::memcmp(dest, from.begin(), size) == 0 && std::all_of(dest - guard, dest, is_guard) &&
         std::all_of(dest + size, dest + size + guard, is_guard);
}

/// The shortest of several times of `copy(to, from, size)`, in seconds.
template <class Copy>
double seconds_of(pages& to, pages& from, size_t at, size_t size, Copy copy) {
  double best = 1;
  for (int i = 0; i < 200; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    copy(to.begin() + at, from.begin(), size);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// Returns whether copies to that distance take less than `most` times as long as to 64 bytes. Measures up to ten
/// times, since other programs may disturb some of them.
template <class Copy>
bool takes_less_than(double most, pages& to, pages& from, size_t at, size_t size, Copy copy) {
  for (int i = 0; i < 10; ++i) {
    if (seconds_of(to, from, at, size, copy) < most * seconds_of(to, from, 64, size, copy)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// Returns whether the kernel copies between processes here; some containers forbid it.
bool kernel_copies() {
  uint64_t from = 1, to = 0;
  return lci::network::shm::read_memory(getpid(), &to, reinterpret_cast<uintptr_t>(&from), sizeof from) == 0;
}
void read_own_memory(void* to, const void* from, size_t size) {
  REQUIRE(lci::network::shm::read_memory(getpid(), to, reinterpret_cast<uintptr_t>(from), size) == 0);
}
void write_own_memory(void* to, const void* from, size_t size) {
  REQUIRE(lci::network::shm::write_memory(getpid(), from, reinterpret_cast<uintptr_t>(to), size) == 0);
}

}  // namespace

TEST_CASE("copies of any size at any distance write these bytes and no others") {
  pages to(20), from(20);
  for (const size_t at : distances)
    for (const size_t size : sizes) {
      CAPTURE(at, size);
      CHECK(is_right(to, from, at, size, lci::copy_bytes));
      CHECK(is_right(to, from, at, size, lci::move_bytes));
    }
}

TEST_CASE("copies by the kernel of any size at any distance write these bytes and no others") {
  if (!kernel_copies()) return lci_test::skip("process_vm_readv() is not permitted here");
  pages to(20), from(20);
  for (const size_t at : distances)
    for (const size_t size : sizes) {
      if (size == 0) continue;
      CAPTURE(at, size);
      CHECK(is_right(to, from, at, size, read_own_memory));
      CHECK(is_right(to, from, at, size, write_own_memory));
    }
}

TEST_CASE("ranges may overlap where bytes are moved") {
  for (const size_t by : distances) {
    for (const bool up : {true, false}) {
      pages both(8);
      const std::vector<unsigned char> before(both.begin(), both.begin() + 8 * page);
      const size_t source = up ? 0 : by, target = up ? by : 0, size = 3 * page;
      lci::move_bytes(both.begin() + target, both.begin() + source, size);
      CAPTURE(by, up);
      CHECK(std::memcmp(both.begin() + target, before.data() + source, size) == 0);
    }
  }
}

TEST_CASE("no distance makes a copy many times as long") {
  if (lci_test::sanitized) return lci_test::skip("a sanitizer checks each byte of a copy");
  pages to(20), from(20);
  for (const size_t size : {size_t{4096}, size_t{16384}, size_t{65536}}) {
    for (const size_t at : {8, 16, 24}) {
      CAPTURE(size, at);
      CHECK(takes_less_than(5, to, from, at, size, lci::copy_bytes));
      CHECK(takes_less_than(5, to, from, at, size, lci::move_bytes));
    }
  }
}

TEST_CASE("no distance makes a copy by the kernel many times as long") {
  if (lci_test::sanitized) return lci_test::skip("a sanitizer checks each byte of a copy");
  if (!kernel_copies()) return lci_test::skip("process_vm_readv() is not permitted here");
  pages to(20), from(20);
  for (const size_t size : {size_t{4096}, size_t{16384}, size_t{65536}}) {
    for (const size_t at : {8, 16, 24}) {
      CAPTURE(size, at);
      CHECK(takes_less_than(4, to, from, at, size, read_own_memory));
      CHECK(takes_less_than(4, to, from, at, size, write_own_memory));
    }
  }
}
