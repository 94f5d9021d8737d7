#include "tests/sweep/faults.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sweep {

namespace {

constexpr size_t n_calls = static_cast<size_t>(call::end);
constexpr std::array<const char*, n_calls> names = {
    "alloc",
#define SWEEP_CALL(name) #name,
#include "tests/sweep/calls.inc"
#include "tests/sweep/fabric_calls.inc"
#undef SWEEP_CALL
};

struct named_errno {
  const char* name;
  int value;
};
constexpr named_errno errnos[] = {
#define NAMED(e) \
  { #e, e }
    NAMED(EACCES),         NAMED(EADDRINUSE),    NAMED(EADDRNOTAVAIL),
    NAMED(EAFNOSUPPORT),   NAMED(EAGAIN),        NAMED(EBADF),
    NAMED(EBUSY),          NAMED(ECANCELED),     NAMED(EKEYREJECTED),
    NAMED(ENODATA),        NAMED(ENOKEY),        NAMED(ECONNABORTED),
    NAMED(ECONNREFUSED),   NAMED(ECONNRESET),    NAMED(EEXIST),
    NAMED(EFAULT),         NAMED(EHOSTUNREACH),  NAMED(EINPROGRESS),
    NAMED(EINTR),          NAMED(EINVAL),        NAMED(EIO),
    NAMED(EISCONN),        NAMED(EMFILE),        NAMED(EMSGSIZE),
    NAMED(ENETDOWN),       NAMED(ENETUNREACH),   NAMED(ENFILE),
    NAMED(ENOBUFS),        NAMED(ENODEV),        NAMED(ENOENT),
    NAMED(ENOMEM),         NAMED(ENOPROTOOPT),   NAMED(ENOSPC),
    NAMED(ENOSYS),         NAMED(ENOTCONN),      NAMED(EOPNOTSUPP),
    NAMED(EPERM),          NAMED(EPIPE),         NAMED(ESRCH),
    NAMED(ETIMEDOUT),
#undef NAMED
    {"FI_ETOOSMALL", 257}, {"FI_EOVERRUN", 268},  // of rdma/fi_errno.h
    {"PART", partly},
};

struct plan {
  size_t which = n_calls;  // no call
  long first = 0, last = 0;
  int error = ENOMEM;
  int rank = -1;  // any rank
  bool costs_peers = false;
  long allocations = 0;  // that fail after the call
};

plan wanted;
std::atomic<bool> armed{false};
bool was_armed_once = false;  // accessed by builtins: count() runs before AddressSanitizer's start
std::atomic<int> n_injected{0};
std::array<std::atomic<long>, n_calls> counts{};
std::atomic<int> n_objects{0};
thread_local long allocations_to_fail = 0;
thread_local int exemptions = 0;

[[noreturn]] void reject(const char* text) {
  std::fprintf(stderr, "LCI_TEST_SWEEP=%s is not understood: CALL:N[+MORE][:ERRNO[~ALLOCATIONS]][!]\n", text);
  std::exit(2);
}

/// Prints the call and a backtrace without allocating. suite.py finds the names of functions that are not exported.
void tell(call which, long n, int error) {
  std::array<char, 120> line;
  const int size = std::snprintf(line.data(), line.size(), "INJECTED %s:%ld errno %d at\n",
                                 names[static_cast<size_t>(which)], n, error);
  (void)!::write(STDERR_FILENO, line.data(), static_cast<size_t>(size));
  std::array<void*, 24> frames;
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), static_cast<int>(frames.size())), STDERR_FILENO);
}

}  // namespace

void read_plan() {
  std::array<void*, 2> frames;
  (void)backtrace(frames.data(), 2);  // the first call loads a library, which allocates
  if (const char* rank = std::getenv("LCI_TEST_SWEEP_RANK")) wanted.rank = std::atoi(rank);
  const char* text = std::getenv("LCI_TEST_SWEEP");
  if (text == nullptr || *text == 0) return;
  const char* colon = std::strchr(text, ':');
  if (colon == nullptr) reject(text);
  for (size_t i = 0; i < n_calls; ++i)
    if (std::strlen(names[i]) == static_cast<size_t>(colon - text) &&
        std::memcmp(names[i], text, std::strlen(names[i])) == 0)
      wanted.which = i;
  char* end;
  wanted.first = wanted.last = std::strtol(colon + 1, &end, 10);
  if (*end == '+') wanted.last += std::strtol(end + 1, &end, 10) - 1;
  if (*end == ':') {
    wanted.error = 0;
    const char* const name = end + 1;
    const size_t size = std::strcspn(name, "~!");
    for (const named_errno& e : errnos)
      if (std::strlen(e.name) == size && std::memcmp(e.name, name, size) == 0) wanted.error = e.value;
    end += 1 + size;
    if (*end == '~') wanted.allocations = std::strtol(end + 1, &end, 10);
  }
  wanted.costs_peers = *end == '!';
  if (wanted.costs_peers) ++end;
  if (wanted.which == n_calls || wanted.first < 1 || wanted.error == 0 || *end != 0) reject(text);
}

bool may_cost_peers() { return wanted.costs_peers; }

void arm(int rank) {
  __atomic_store_n(&was_armed_once, true, __ATOMIC_RELAXED);
  if (wanted.rank < 0 || wanted.rank == rank) armed.store(true);
}
void disarm() { armed.store(false); }

pause::pause() : was_armed_(armed.exchange(false)) {}
pause::~pause() { armed.store(was_armed_); }

exempt::exempt() { ++exemptions; }
exempt::~exempt() { --exemptions; }

bool breaks_connections() {
  const bool of_sockets =
      wanted.which == static_cast<size_t>(call::send) || wanted.which == static_cast<size_t>(call::sendmsg) ||
      wanted.which == static_cast<size_t>(call::recv) || wanted.which == static_cast<size_t>(call::recvmsg);
  return of_sockets && (wanted.error == EPIPE || wanted.error == ECONNRESET || wanted.error == ETIMEDOUT);
}

int injected() { return n_injected.load(); }

void count_objects(int more) { n_objects.fetch_add(more, std::memory_order_relaxed); }
int objects() { return n_objects.load(std::memory_order_relaxed); }

void print_counts(int rank) {
  std::printf("COUNTS rank=%d", rank);
  for (size_t i = 0; i < n_calls; ++i)
    if (const long n = counts[i].load()) std::printf(" %s=%ld", names[i], n);
  std::printf("\n");
}

int count(call which) {
  if (!__atomic_load_n(&was_armed_once, __ATOMIC_RELAXED) || !armed.load(std::memory_order_relaxed)) return 0;
  if (exemptions > 0) return 0;
  const auto i = static_cast<size_t>(which);
  const long n = counts[i].fetch_add(1, std::memory_order_relaxed) + 1;
  const bool is_wanted = i == wanted.which && n >= wanted.first && n <= wanted.last;
  const bool follows = which == call::alloc && allocations_to_fail > 0;
  if (!is_wanted && !follows) return 0;
  n_injected.fetch_add(1);
  const pause while_printing;
  tell(which, n, follows ? ENOMEM : wanted.error);
  if (follows) return --allocations_to_fail, ENOMEM;
  allocations_to_fail = wanted.allocations;
  return wanted.error;
}

}  // namespace sweep
