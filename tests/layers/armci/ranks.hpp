// Runs a test program's body on each rank: of a launcher's processes, or, with LCI_TEST_RANKS=N, of N threads over the
// simulated network, with a build of the layer in which each thread has an ARMCI of its own.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace armci_test {

/// Failed checks of all of this process's ranks. The program's status.
inline std::atomic<int> failures{0};

inline void fail(const char* file, int line, const std::string& text) {
  if (failures.fetch_add(1) < 20) std::fprintf(stderr, "%s:%d: %s\n", file, line, text.c_str());
}

template <class Body>
int on_ranks(Body body) {
  const char* const threads = std::getenv("LCI_TEST_RANKS");
  if (threads == nullptr) {
    body();
  } else {
    std::vector<std::thread> ranks;
    for (int r = 0; r < std::atoi(threads); ++r) ranks.emplace_back(body);
    for (std::thread& r : ranks) r.join();
  }
  return failures.load() == 0 ? 0 : 1;
}

}  // namespace armci_test

#define EXPECT(condition)                                                         \
  do {                                                                            \
    if (!(condition)) ::armci_test::fail(__FILE__, __LINE__, "not: " #condition); \
  } while (false)
#define EXPECT_EQ(a, b)                                                                                                \
  do {                                                                                                                 \
    const auto got_ = (a);                                                                                             \
    const auto expected_ = (b);                                                                                        \
    if (!(got_ == expected_))                                                                                          \
      ::armci_test::fail(__FILE__, __LINE__, #a " is " + std::to_string(got_) + ", not " + std::to_string(expected_)); \
  } while (false)
