// One rank of two lacks memory for a moment while both allocate the same: a runtime, a net context or a device. It
// repeats the call, for which the other rank waits. Then what the ranks have made belongs together: messages arrive.
// The argument says what is allocated; each allocation of memory in the call fails once, alone or with the next ones.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "lci.hpp"
#include "tests/support/failing_memory.hpp"

namespace {

using lci_test::failing_memory;

constexpr int lacking = 1;  // the rank that lacks memory

[[noreturn]] void give_up(const char* what) {
  std::printf("rank %d: %s\n", lci::get_rank_me(), what);
  std::exit(1);
}

/// What a rank tells the other one in each step. Large enough for a rendezvous.
struct report {
  long good, failures;
  char filling[100'000];
};

/// The ranks exchange reports through the device.
report exchange(lci::runtime_t rt, lci::device_t device, long good, long failures) {
  static report mine, theirs;
  mine.good = good;
  mine.failures = failures;
  std::memset(mine.filling, static_cast<int>(good), sizeof mine.filling);
  const int peer = 1 - lci::get_rank_me_x().runtime(rt)();
  auto sent = lci::alloc_sync_x().runtime(rt)(), received = lci::alloc_sync_x().runtime(rt)();
  (void)lci::post_recv_x(peer, &theirs, sizeof theirs, 7, received).device(device).allow_done(false).runtime(rt)();
  while (lci::post_send_x(peer, &mine, sizeof mine, 7, sent).device(device).allow_done(false).runtime(rt)().is_retry())
    lci::progress_x().device(device).runtime(rt)();
  for (lci::comp_t* c : {&sent, &received}) {
    while (!lci::sync_test_x(*c, nullptr).runtime(rt)()) lci::progress_x().device(device).runtime(rt)();
    lci::free_comp_x(c).runtime(rt)();
  }
  if (theirs.good != good || std::memcmp(mine.filling, theirs.filling, sizeof mine.filling) != 0)
    give_up("a message arrived in another step than it was sent in");
  return theirs;
}

/// Calls alloc(); at one rank while allocations of memory fail after `good` ones, and again until it succeeds.
template <class F>
auto alloc_lacking(int rank, long good, long bad, long& failures, F alloc) {
  failures = 0;
  if (rank != lacking) return alloc();
  for (int tries = 0;; ++tries) {
    try {
      const failing_memory some(0, tries == 0 ? good : 0, tries == 0 ? bad : 0);
      auto made = alloc();
      if (tries == 0) failures = failing_memory::failures();
      return made;
    } catch (const lci::resource_error&) {
    } catch (const std::bad_alloc&) {
      give_up("std::bad_alloc was thrown");
    }
    failures = 1;
    if (tries == 3) give_up("there is memory again, and a call has failed nevertheless");
  }
}

/// Both ranks make one; returns how many allocations have failed.
long make_runtime(lci::runtime_t, int rank, long good, long bad) {
  long failures = 0;
  lci::runtime_t rt = alloc_lacking(rank, good, bad, failures, [] { return lci::alloc_runtime(); });
  const report other = exchange(rt, lci::get_default_device_x().runtime(rt)(), good, failures);
  lci::barrier_x().runtime(rt)();
  lci::free_runtime(&rt);
  return rank == lacking ? failures : other.failures;
}

long make_device(lci::runtime_t rt, int rank, long good, long bad) {
  long failures = 0;
  lci::device_t device = alloc_lacking(rank, good, bad, failures, [&] { return lci::alloc_device_x().runtime(rt)(); });
  const report other = exchange(rt, device, good, failures);
  lci::barrier_x().runtime(rt)();
  lci::free_device_x(&device).runtime(rt)();
  return rank == lacking ? failures : other.failures;
}

long make_context(lci::runtime_t rt, int rank, long good, long bad) {
  long failures = 0;
  lci::net_context_t context =
      alloc_lacking(rank, good, bad, failures, [&] { return lci::alloc_net_context_x().runtime(rt)(); });
  lci::device_t device = lci::alloc_device_x().net_context(context).runtime(rt)();
  const report other = exchange(rt, device, good, failures);
  lci::barrier_x().runtime(rt)();
  lci::free_device_x(&device).runtime(rt)();
  lci::free_net_context_x(&context).runtime(rt)();
  return rank == lacking ? failures : other.failures;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(100);
  const std::string what = argc > 1 ? argv[1] : "device";
  const long bad = argc > 2 ? std::atol(argv[2]) : 1;
  lci::runtime_t rt = lci::alloc_runtime();
  const int rank = lci::get_rank_me_x().runtime(rt)();
  const auto make = what == "runtime" ? make_runtime : what == "context" ? make_context : make_device;
  long good = 0;
  while (make(rt, rank, good, bad) != 0) ++good;
  if (rank == lacking) std::printf("%s: each of %ld allocations has failed\n", what.c_str(), good);
  lci::barrier_x().runtime(rt)();
  lci::free_runtime(&rt);
  return good > 2 ? 0 : 1;
}
