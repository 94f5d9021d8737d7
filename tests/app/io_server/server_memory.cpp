// Preloaded into lci_iod: after the signal SIGRTMIN + n, allocation number n from then on fails, once.
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" void* __libc_malloc(size_t) noexcept;

namespace {

std::atomic<long> left_until_failure{-1};  // allocations; negative: none fails

void arm(int number) { left_until_failure.store(number - SIGRTMIN); }

[[gnu::constructor]] void begin() {
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) signal(number, arm);
}

}  // namespace

extern "C" void* malloc(size_t size) noexcept {
  if (left_until_failure.load(std::memory_order_relaxed) >= 0 && left_until_failure.fetch_sub(1) == 0) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}
