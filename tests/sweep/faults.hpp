// Makes the n-th allocation or system call of this process fail, and prints which one it was.
#pragma once

namespace sweep {

/// Reads from LCI_TEST_SWEEP which calls fail: "alloc:17" (the 17th allocation), "alloc:17+8" (that one and the
/// next 7), "recv:3:EAGAIN" (the third call of recv(), with this errno). "~2" after the errno makes the next two
/// allocations of the same thread fail, too. The errno PART makes a call of send(), sendmsg(), recv() or recvmsg()
/// transfer half of its bytes. A "!" at the end allows the fault to break the connection with the peer.
/// Without the variable calls are only counted. Exits with a message if it is malformed.
void read_plan();
bool may_cost_peers();

/// Starts counting calls of all threads, if LCI_TEST_SWEEP_RANK names this rank or is not set.
void arm(int rank);
void disarm();

/// No calls are counted while an object of this class exists: for calls of the test itself.
class pause {
 public:
  pause();
  ~pause();
  pause(const pause&) = delete;
  pause& operator=(const pause&) = delete;

 private:
  bool was_armed_;
};

/// The same for calls of this thread only. Calls of the library's threads still count.
class exempt {
 public:
  exempt();
  ~exempt();
  exempt(const exempt&) = delete;
  exempt& operator=(const exempt&) = delete;
};

/// Returns whether the configured fault ends a connection.
bool breaks_connections();

/// The number of calls that were made to fail.
int injected();
/// Prints the number of calls of each kind to standard output: "COUNTS rank=0 alloc=153 recv=12".
void print_counts(int rank);

// --- for the wrappers of the calls ---

enum class call {
  alloc,
#define SWEEP_CALL(name) name,
#include "tests/sweep/calls.inc"
#include "tests/sweep/fabric_calls.inc"
#undef SWEEP_CALL
  end
};

/// For wrappers that are called before AddressSanitizer has mapped its shadow memory.
#define SWEEP_UNCHECKED __attribute__((no_sanitize("address")))
#define SWEEP_API __attribute__((visibility("default")))  // called by a library that wraps another one

constexpr int partly = 100'000;  // the errno PART
/// Counts a call. Returns the errno with which it must fail, or 0 if the real function is to be called.
SWEEP_API SWEEP_UNCHECKED int count(call which);
/// Adds `more` to the number of a library's objects that are alive.
SWEEP_API void count_objects(int more);
int objects();

}  // namespace sweep
