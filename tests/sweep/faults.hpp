// Makes the n-th allocation or system call of this process fail, and says which one that was.
#pragma once

namespace sweep {

/// Reads LCI_TEST_SWEEP, which says what is to fail: "alloc:17" (the 17th allocation), "alloc:17+8" (that one and the
/// next 7), "recv:3:EAGAIN" (the third call of recv(), with this errno). A "!" at its end says that the fault may break
/// the connection with the peer. Without the variable calls are only counted. Exits with a text if it is malformed.
void read_plan();
bool may_cost_peers();

/// From now on calls count, of any thread, if this is the rank that LCI_TEST_SWEEP_RANK names, or it names none.
void arm(int rank);
void disarm();

/// While one lives nothing counts: for what the test itself does.
class pause {
 public:
  pause();
  ~pause();
  pause(const pause&) = delete;
  pause& operator=(const pause&) = delete;

 private:
  bool was_armed_;
};

/// Whether what is to fail ends a connection for good.
bool breaks_connections();

/// How many calls have been made to fail.
int injected();
/// Prints "COUNTS rank=0 alloc=153 recv=12" to standard output: what there is to sweep over.
void print_counts(int rank);

// --- for what stands before the calls ---

enum class call {
  alloc,
#define SWEEP_CALL(name) name,
#include "tests/sweep/calls.inc"
#include "tests/sweep/fabric_calls.inc"
#undef SWEEP_CALL
  end
};

#define SWEEP_API __attribute__((visibility("default")))  // a library that stands before another calls it

/// Counts a call. The errno with which it is to fail; mostly 0: it goes on to the system.
SWEEP_API int count(call which);
/// So many more objects of a library's are alive.
SWEEP_API void count_objects(int more);
int objects();

}  // namespace sweep
