// What every test program may use besides Catch2: skips with a reason, a time limit, facts of the build.
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

/// The factor by which tests may take longer in this build.
constexpr int time_scale = thread_sanitizer ? 8 : address_sanitizer ? 4 : 1;

/// The factor by which tests with random input run longer than usual: 1, or 10 if LCI_TESTS_LONG=1 in the
/// environment asks for whole sweeps (`tests/run.sh --long`). The watchdog's limits grow by the same factor.
int long_runs();

/// How many of `n` random inputs a test tries: all, but with a sanitizer, which finds most errors with the first ones,
/// only a part of them. With long_runs() all.
inline int some_of(int n) { return long_runs() > 1 ? n : (n + time_scale - 1) / time_scale; }

/// Counts the running test case as skipped, for this reason. The caller returns afterwards. Main thread only.
void skip(const std::string& reason);

/// Gives the running test case this many seconds (times time_scale and long_runs()) from now until the watchdog
/// kills the process. Default: 60, or LCI_TEST_TIMEOUT.
void time_limit(int seconds);

/// This process's rank, from the launcher's environment variables; 0 without a launcher.
int process_rank();
/// The number of ranks that the launcher has started; 1 without a launcher.
int process_count();

}  // namespace lci_test

/// Returns from the test case, which counts as skipped; the reason is printed.
#define LCI_SKIP(reason)      \
  do {                        \
    ::lci_test::skip(reason); \
    return;                   \
  } while (false)
