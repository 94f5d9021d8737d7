// What every test program may use beside Catch2: skips with a reason, a time limit, build facts.
#pragma once

#include <string>

namespace lci_test {

#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif
#else
constexpr bool thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool address_sanitizer = true;
#else
constexpr bool address_sanitizer = false;
#endif
#else
constexpr bool address_sanitizer = false;
#endif

constexpr bool sanitized = thread_sanitizer || address_sanitizer;

/// How much longer things may take in this build.
constexpr int time_scale = thread_sanitizer ? 8 : address_sanitizer ? 4 : 1;

/// How many times longer than usual tests with random input go on: 1, or 10 where LCI_TESTS_LONG=1 in the
/// environment asks for whole sweeps (`tests/run.sh --long`). The watchdog waits that much longer, too.
int long_runs();

/// Says that the running test case can't be done here, and why; it counts as skipped. The caller
/// returns. Main thread only.
void skip(const std::string& reason);

/// Gives the running test case this many seconds (times time_scale and long_runs()) from now until the watchdog
/// kills the process. Default: 60, or LCI_TEST_TIMEOUT.
void time_limit(int seconds);

/// This process's rank as its launcher says in the environment; 0 without a launcher.
int process_rank();
/// How many ranks the launcher has started; 1 without one.
int process_count();

}  // namespace lci_test

/// Leaves the test case; the reason is printed and counted.
#define LCI_SKIP(reason)       \
  do {                         \
    ::lci_test::skip(reason);  \
    return;                    \
  } while (false)
