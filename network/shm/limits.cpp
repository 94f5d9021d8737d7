#include "network/shm/limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

namespace lci::network::shm {

namespace {

// Segments get a quarter of the address space, heaps another one.
constexpr size_t shares = 4;

size_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur;
}

}  // namespace

size_t within_limits(size_t wanted, int ranks_of_host) {
  const size_t address_space = limit_of(RLIMIT_AS);
  if (address_space != SIZE_MAX)
    wanted = std::min(wanted, address_space / (shares * static_cast<size_t>(std::max(ranks_of_host, 1))));
  constexpr size_t whole = 4096;  // bytes of a page: a size is a multiple of that
  return std::min(wanted, largest_file()) / whole * whole;
}

size_t largest_file() { return limit_of(RLIMIT_FSIZE); }

}  // namespace lci::network::shm
