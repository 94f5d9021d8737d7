// Building blocks of scenarios of CCS: two ranks call functions of CCS while allocations fail, and check the results.
#pragma once

#include <ccs.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "tests/sweep/rank.hpp"

namespace sweep {

inline CCS_node_t peer() { return n_ranks == 1 ? 0 : static_cast<CCS_node_t>(1 - me); }

/// Returns whether a call has succeeded; false if it lacked memory. Fails if no fault was injected then, or for any
/// other result.
bool succeeds(const char* what, int result);
/// Calls f() until it succeeds, as faults are temporary.
template <class F>
void insist(const char* what, F f) {
  for (int i = 0; i < 100; ++i)
    if (succeeds(what, f())) return;
  fail("%s: fails for ever", what);
}

/// A barrier of both ranks without CCS, which makes progress.
void meet();

constexpr int n_operations = 16;
/// The result of operation i of a rank.
inline std::atomic<outcome>& result_of(int rank, int i) {
  return page->outcomes[static_cast<size_t>(rank)][static_cast<size_t>(i)];
}
void forget_results();

/// The pointer of either rank, which the other one may read after meet().
void publish(int which, const void* address);
void* published(int which, int rank);

/// Bytes of operation i, from a few to several packets.
size_t size_of(int i);
void fill(void* at, size_t size, int i);
bool is_filled(const void* at, size_t size, int i);

/// Counts calls of a callback whose argument points to it.
void count_call(void* counter);

/// Registers the handlers of all scenarios.
void register_handlers();
CCS_context_t context();

using scenario = void (*)();

// ccs_messages.cpp
void messages();
void replies();
void large();
void collectives();
void symmetric();
// ccs_memory.cpp
void put();
void get();
void shared_put();  // to memory that is mapped at both ranks
void described();
void accumulate();
void atomic();
void indexed();
void registration();
void busy();  // calls in sections in which callbacks and handlers must not run

}  // namespace sweep
