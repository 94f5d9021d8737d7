// CCS for a test case: initialized at its begin and finalized at its end, in all processes.
#pragma once

#include <ccs.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>

#include "tests/support/testing.hpp"

namespace ccs_test {

class job {
 public:
  job() {
    REQUIRE(CCS_init() == CCS_SUCCESS);
    CCS_node_t number = 0;
    REQUIRE(CCS_get_rank(&number) == CCS_SUCCESS);
    rank = static_cast<int>(number);
    REQUIRE(CCS_get_size(&number) == CCS_SUCCESS);
    size = static_cast<int>(number);
    REQUIRE(CCS_new_context(&context) == CCS_SUCCESS);
  }
  ~job() { CHECK(CCS_finalize() == CCS_SUCCESS); }
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  CCS_node_t next() const { return static_cast<CCS_node_t>((rank + 1) % size); }
  CCS_node_t previous() const { return static_cast<CCS_node_t>((rank + size - 1) % size); }

  int rank = 0, size = 1;
  CCS_context_t context = 0;
};

template <class Done>
void poll_until(Done done) {
  while (!done()) CCS_poll();
}

/// A callback that counts.
inline void count_up(void* counter) { ++*static_cast<int*>(counter); }

}  // namespace ccs_test
