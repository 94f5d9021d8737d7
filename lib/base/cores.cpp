#include "lib/base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace lci {

namespace {

unsigned count_cores() {
  // Not enough room for the mask on a machine with more than 1024 cores.
  cpu_set_t mask;
  const int n = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 0;
  return std::max(n > 0 ? static_cast<unsigned>(n) : std::thread::hardware_concurrency(), 1U);
}

// Counted when the library is loaded: a thread that asks later may be bound to a core of its own.
[[maybe_unused]] const unsigned counted_at_start = usable_cores();

}  // namespace

unsigned usable_cores() {
  static const unsigned count = count_cores();
  return count;
}

}  // namespace lci
