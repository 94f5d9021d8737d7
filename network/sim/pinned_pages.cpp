#include "network/sim/pinned_pages.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lci/errors.hpp"

namespace lci::network::sim {

namespace {

const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
uint64_t first_page(uint64_t base) { return base / page * page; }
uint64_t last_page(uint64_t base, size_t size) { return first_page(base + (size == 0 ? 0 : size - 1)); }

bool is_locked(uint64_t at) {
  return msync(reinterpret_cast<void*>(at), page, MS_ASYNC | MS_INVALIDATE) != 0 && errno == EBUSY;
}

/// Locks without faulting pages in. A direct system call, as sanitizers replace the function by one that does nothing.
bool lock_on_fault(uint64_t from, uint64_t end) {
  constexpr int on_fault = 1;
  return syscall(SYS_mlock2, from, end - from, on_fault) == 0;
}

}  // namespace

uint64_t pinned_pages::pin(uint64_t base, size_t size) {
  const uint64_t from = first_page(base), last = last_page(base, size), stamp = ++stamps_;
  for (uint64_t at = from; at <= last; at += page) {
    const auto known = pages_.find(at);
    if (known != pages_.end() && !is_locked(at)) known->second.since = stamp;  // mapped again
  }
  if (!lock_on_fault(from, last + page))
    throw resource_error("sim: can't lock " + std::to_string(last + page - from) + " bytes to be registered: " +
                         std::strerror(errno) + "; raise `ulimit -l`, or leave out LCI_ATTR_SIM_CHECK_MAPPINGS");
  for (uint64_t at = from; at <= last; at += page) {
    held& h = pages_.try_emplace(at, held{0, stamp}).first->second;
    h.pins += 1;
  }
  return stamp;
}

void pinned_pages::unpin(uint64_t base, size_t size) {
  const uint64_t end = last_page(base, size) + page;
  uint64_t from = first_page(base);  // start of the pages before `at` that are no longer pinned
  for (uint64_t at = from; at <= end; at += page) {
    if (at < end) {
      const auto known = pages_.find(at);
      if (--known->second.pins == 0) {
        pages_.erase(known);
        continue;
      }
    }
    // A direct system call, as above. If the memory is unmapped, there is nothing to unlock.
    if (from < at) (void)syscall(SYS_munlock, from, at - from);
    from = at + page;
  }
}

bool pinned_pages::intact(uint64_t base, size_t size, uint64_t stamp) const {
  for (uint64_t at = first_page(base); at <= last_page(base, size); at += page) {
    const auto known = pages_.find(at);
    if (known == pages_.end() || known->second.since > stamp || !is_locked(at)) return false;
  }
  return true;
}

}  // namespace lci::network::sim
