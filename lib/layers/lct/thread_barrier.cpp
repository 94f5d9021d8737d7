// A split-phase barrier of threads: arrive, and later test or wait for the others.
#include <lct.h>

#include <atomic>
#include <bit>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/layers/lct/misuse.hpp"

namespace {

/// Thread-safe. The count of arrivals is never reset; each n of them are a round. A sleeping thread waits for
/// the count itself to change; the last arrival of a round wakes all, using only the address of the count. So arrive()
/// does not access the barrier after its increment, and a thread that has waited may free it if no other one waits.
///
/// Memory orders: each arrival is a release (R1) that continues the release sequence of earlier ones, so a thread that
/// sees the last arrival of a round (A1) sees what all threads did before they arrived.
class thread_barrier : public lct::object<0x5bafb13d> {
 public:
  explicit thread_barrier(int n) : n_(n) {}

  int64_t arrive() {
    const int64_t n = n_;
    const void* word = count_word();
    const int64_t ticket = arrived_.fetch_add(1, std::memory_order_acq_rel);  // R1, A1
    if ((ticket + 1) % n == 0) lci::os_futex::wake_all(word);
    return ticket;
  }

  bool test(const char* function, int64_t ticket) const {
    return is_over(function, ticket, arrived_.load(std::memory_order_acquire));  // A1
  }

  void wait(const char* function, int64_t ticket) const {
    constexpr int looks = 1000;  // before sleeping: a few us, about the cost of a sleep and a wake-up
    for (int i = 0; i < looks; ++i) {
      if (test(function, ticket)) return;
      lci::cpu_pause();
    }
    for (;;) {
      const int64_t arrived = arrived_.load(std::memory_order_acquire);  // A1
      if (is_over(function, ticket, arrived)) return;
      lci::os_futex::wait(count_word(), static_cast<uint32_t>(arrived), -1);
    }
  }

 private:
  bool is_over(const char* function, int64_t ticket, int64_t arrived) const {
    if (__builtin_expect(ticket < 0 || ticket >= arrived, 0))
      lct::fail(function, "ticket = %lld, but must be one that LCT_tbarrier_arrive has returned",
                static_cast<long long>(ticket));
    return arrived >= (ticket / n_ + 1) * n_;
  }

  /// The lower half of the count, since a futex has 32 bits.
  const void* count_word() const {
    return reinterpret_cast<const uint32_t*>(&arrived_) + (std::endian::native == std::endian::big ? 1 : 0);
  }

  const int64_t n_;
  std::atomic<int64_t> arrived_{0};
};

thread_barrier& barrier_of(const char* function, LCT_tbarrier_t b) {
  return lct::get<thread_barrier>(function, "a barrier of threads", b);
}

}  // namespace

LCT_tbarrier_t LCT_tbarrier_alloc(int nthreads) {
  constexpr const char* me = "LCT_tbarrier_alloc";
  if (nthreads < 1) lct::fail(me, "nthreads = %d, but must be at least 1", nthreads);
  return lct::or_null(me, [&] { return new thread_barrier(nthreads); });
}
void LCT_tbarrier_free(LCT_tbarrier_t* barrier) {
  lct::release<thread_barrier>("LCT_tbarrier_free", "a barrier of threads", barrier);
}
int64_t LCT_tbarrier_arrive(LCT_tbarrier_t barrier) { return barrier_of("LCT_tbarrier_arrive", barrier).arrive(); }
bool LCT_tbarrier_test(LCT_tbarrier_t barrier, int64_t ticket) {
  return barrier_of("LCT_tbarrier_test", barrier).test("LCT_tbarrier_test", ticket);
}
void LCT_tbarrier_wait(LCT_tbarrier_t barrier, int64_t ticket) {
  barrier_of("LCT_tbarrier_wait", barrier).wait("LCT_tbarrier_wait", ticket);
}
void LCT_tbarrier_arrive_and_wait(LCT_tbarrier_t barrier) {
  thread_barrier& b = barrier_of("LCT_tbarrier_arrive_and_wait", barrier);
  b.wait("LCT_tbarrier_arrive_and_wait", b.arrive());
}
