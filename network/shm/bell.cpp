#include "network/shm/bell.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace lci::network::shm {

namespace {

/// Without membarrier a sender may miss a sleeper, so the sleep is limited to this.
constexpr int64_t longest_unsafe_sleep_us = 500;
std::atomic<bool> have_membarrier{false};

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

void prepare_bells() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0) have_membarrier.store(true, std::memory_order_relaxed);
}

void announce_sleeper(device_entry& entry) {
  entry.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (have_membarrier.load(std::memory_order_relaxed)) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void sleep_until_bell(device_entry& entry, uint32_t seen, int64_t timeout_us) {
  if (!have_membarrier.load(std::memory_order_relaxed)) timeout_us = std::min(timeout_us, longest_unsafe_sleep_us);
  timespec t{static_cast<time_t>(timeout_us / 1000000), (timeout_us % 1000000) * 1000};
  syscall(SYS_futex, &entry.bell, FUTEX_WAIT, seen, &t, nullptr, 0);
}

void ring(device_entry& entry) {
  entry.bell.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &entry.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace lci::network::shm
