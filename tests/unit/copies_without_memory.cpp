// Copies by the kernel that want a buffer, and have no memory for it.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/copy_bytes.hpp"
#include "network/shm/cma.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/support/testing.hpp"

namespace {
constexpr size_t size = 100000;
}

TEST_CASE("without memory for a buffer the kernel copies directly", "[memory]") {
  std::vector<char> source(size), memory(size + 2 * lci::copy_distance::page);
  for (size_t i = 0; i < size; ++i) source[i] = static_cast<char>(i * 7 + i / 256);
  char* target = memory.data();
  while (!lci::copy_distance::is_slow(target, source.data())) ++target;
  const auto from = reinterpret_cast<uintptr_t>(source.data()), to = reinterpret_cast<uintptr_t>(target);
  uint64_t word;
  if (lci::network::shm::read_memory(getpid(), &word, from, sizeof word) != 0)
    return lci_test::skip("process_vm_readv() is not permitted here");
  for (const bool reads : {true, false}) {
    std::fill(memory.begin(), memory.end(), 0);
    int error;
    long failures;
    {
      const lci_test::failing_memory none(size_t{16} << 10);
      error = reads ? lci::network::shm::read_memory(getpid(), target, from, size)
                    : lci::network::shm::write_memory(getpid(), source.data(), to, size);
      failures = lci_test::failing_memory::failures();
    }
    CHECK(failures == 1);
    CHECK(error == 0);
    CHECK(std::equal(source.begin(), source.end(), target));
  }
}
