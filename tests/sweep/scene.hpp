// Building blocks of scenarios: two ranks call operations while some calls fail, and check the results.
#pragma once

#include <exception>
#include <lci.hpp>

#include "tests/sweep/rank.hpp"

namespace sweep {

inline int peer() { return n_ranks == 1 ? 0 : 1 - me; }

/// Thrown at the first report of the peer's failure, which ends the scenario.
struct peer_lost {};
/// Set while a peer failure is allowed, since the configured fault breaks a connection.
extern bool may_lose_peer;
/// Returns whether the exception reports an allowed failure of the peer.
bool is_loss(const std::exception& e);
inline bool has_lost(int rank) { return page->lost[static_cast<size_t>(rank)].load() != 0; }

/// Checks an exception that the library threw at `where`: it must have a type that a failed call may cause, and a text.
void accept(const char* where, const std::exception& e);

/// Calls f(); returns false if it threw.
template <class F>
bool attempt(const char* what, F f) {
  try {
    f();
    return true;
  } catch (const std::exception& e) {
    accept(what, e);
    return false;
  }
}
/// Calls f() until it does not throw, as faults are temporary.
template <class F>
void insist(const char* what, F f) {
  for (int i = 0; i < 100; ++i)
    if (attempt(what, f)) return;
  fail("%s: fails for ever", what);
}

/// Returns whether a fault that may break the connection has done so: no further messages arrive then.
bool is_broken();
/// As insist(), but returns once that has happened.
template <class F>
void insist_unless_broken(const char* what, F f) {
  for (int i = 0; i < 100; ++i)
    if (attempt(what, f) || is_broken()) return;
  fail("%s: fails for ever", what);
}

/// A barrier of both ranks, which makes progress.
void meet();

/// The messages 0 to n_messages - 1 have sizes for all protocols.
constexpr int n_messages = 12;
size_t size_of(int i);
const char* content_of(int i);
char* buffer_for(int i);  // one for each message, with room for the largest
bool is_content(int i, const void* data, size_t size);

/// Sends a message of each protocol to the peer and receives as many; all must succeed unless is_broken().
void expect_health();
/// Checks that no objects of the network's library are left. Called after the runtime was freed.
void expect_no_objects();

/// Checks that the failure is reported to both ranks, posts to the peer are refused, and the device becomes drained.
void expect_loss();

using scenario = void (*)();
/// Null if there is none of this name.
scenario find_scenario(const char* name);
void list_scenarios();

}  // namespace sweep
