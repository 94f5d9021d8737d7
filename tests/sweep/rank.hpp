// What a rank of any sweep has: its number, the board that it shares with the other rank, failures and time limits.
#pragma once

#include "tests/sweep/board.hpp"
#include "tests/sweep/faults.hpp"

namespace sweep {

extern int me, n_ranks;
extern board* page;

/// The exit status of a rank that can't start or has lost its launcher, and has reported that; the launcher ends the
/// other ranks.
constexpr int reported_code = 3;

/// Reports an error and ends the process with status 1.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Makes progress; each program has its own.
void turn();

/// Time after which until() fails: the work takes less than a second.
constexpr int timeout_s = 5;  // in seconds, times lci_test::time_scale
class deadline {
 public:
  deadline();
  bool is_over() const;

 private:
  double end_;
};

/// Makes progress until f() returns true.
template <class F>
void until(const char* what, F f) {
  const deadline end;
  while (!f()) {
    turn();
    if (end.is_over()) fail("HUNG: %s", what);
  }
}

}  // namespace sweep
