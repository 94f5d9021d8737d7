// The functions that register and allocate memory.
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "lib/base/error_line.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/process.hpp"

using namespace ccs;

namespace {

bool is_range(const char* function, const void* addr, size_t len) {
  const auto at = reinterpret_cast<uintptr_t>(addr);
  if (LCI_LIKELY(at != 0 && len < ~at - 65536)) return true;
  (void)refuse(function, "addr = %s, len = %zu is no memory of a process", lci::address_text(addr).text, len);
  return false;
}

/// Revokes keys at other processes. If this thread may wait, waits until they have returned them.
void finish(process& p, const registration_table::endings& ended) {
  if (LCI_LIKELY(ended.empty())) return;
  p.take_back(ended);
  if (tls.busy == 0) p.wait_until([&] { return !p.memory->has_ending(); });
}

void add(process& p, void* addr, size_t len) {
  registration_table::endings ended;
  try {
    p.memory->add(reinterpret_cast<uintptr_t>(addr), len, ended);
  } catch (...) {
    finish(p, ended);
    throw;
  }
  finish(p, ended);
}

}  // namespace

int CCS_register_mem(void* addr, size_t len) {
  constexpr const char* me = "CCS_register_mem";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    if (len == 0) return +CCS_SUCCESS;
    if (!is_range(me, addr, len)) return +CCS_FAILURE;
    add(*p, addr, len);
    return +CCS_SUCCESS;
  });
}

int CCS_deregister_mem(void* addr, size_t len) {
  constexpr const char* me = "CCS_deregister_mem";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    if (len == 0) return +CCS_SUCCESS;
    if (!is_range(me, addr, len)) return +CCS_FAILURE;
    registration_table::endings ended;
    if (!p->memory->remove(reinterpret_cast<uintptr_t>(addr), len, ended))
      return refuse(me, "addr = %p, len = %zu: a page of it is not registered, or was deregistered as often", addr,
                    len);
    finish(*p, ended);
    return +CCS_SUCCESS;
  });
}

int CCS_reg_cache_threshold(size_t bytes) {
  constexpr const char* me = "CCS_reg_cache_threshold";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    registration_table::endings ended;
    p->memory->set_threshold(bytes, ended);
    finish(*p, ended);
    return +CCS_SUCCESS;
  });
}

int CCS_reg_cache_stats(size_t* registered, size_t* unused, unsigned long* registrations,
                        unsigned long* deregistrations) {
  constexpr const char* me = "CCS_reg_cache_stats";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    const registration_table::stats s = p->memory->get_stats();
    if (registered != nullptr) *registered = s.registered;
    if (unused != nullptr) *unused = s.unused;
    if (registrations != nullptr) *registrations = s.registrations;
    if (deregistrations != nullptr) *deregistrations = s.deregistrations;
    return +CCS_SUCCESS;
  });
}

void* CCS_malloc(size_t size) {
  process* const p = current("CCS_malloc");
  if (size > PTRDIFF_MAX / 4) return nullptr;  // the core takes it for misuse, malloc() for a lack of memory
  return p == nullptr ? nullptr : or_fail("CCS_malloc", [&] { return p->blocks.allocate(*p, size); });
}

void CCS_free(void* address) {
  constexpr const char* me = "CCS_free";
  process* const p = current(me);
  if (p == nullptr || address == nullptr) return;
  or_fail(me, [&] {
    if (!p->blocks.release(address)) (void)refuse(me, "%p is not from CCS_malloc(), or was freed before", address);
  });
}

namespace {

/// Collective. Returns the maximum of all processes' values. Ends the job if there is no memory, since the other
/// processes continue the allocation and can't learn that this one has failed.
uint64_t largest_of_all(process& p, uint64_t mine) {
  uint64_t all = 0;
  const lci::reduce_op_t larger = [](const void* left, const void* right, void* to, size_t n) {
    for (size_t i = 0; i < n; ++i)
      static_cast<uint64_t*>(to)[i] =
          std::max(static_cast<const uint64_t*>(left)[i], static_cast<const uint64_t*>(right)[i]);
  };
  insist("CCS_malloc_symmetric", [&] {
    p.wait_for(
        [&](lci::comp_t done) { lci::allreduce_x(&mine, &all, 1, sizeof mine, larger).device(p.device).comp(done)(); });
  });
  return all;
}

void* map_near(uintptr_t address, size_t size, int flags = 0) {
  void* const at = mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}
void* map_at(uintptr_t address, size_t size) {
  void* const at = map_near(address, size, MAP_FIXED_NOREPLACE);
  if (at == nullptr || at == reinterpret_cast<void*>(address)) return at;
  munmap(at, size);  // kernels before 4.17 ignore MAP_FIXED_NOREPLACE
  return nullptr;
}

/// A random address. For every other try it lies between 16 and 64 TiB, where most programs have mapped little; for the
/// others within 1 TiB below this thread's stack, since a program that the thread sanitizer watches may map memory only
/// there. 0 if the system gives no number.
uintptr_t random_place(unsigned number_of_try) {
  constexpr uintptr_t tebi = uintptr_t{1} << 40, page = 4096;
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return 0;
  const uintptr_t place =
      number_of_try % 2 == 0 ? 16 * tebi + number % (48 * tebi) : reinterpret_cast<uintptr_t>(&number) - number % tebi;
  return place / page * page;
}

bool all_are(process& p, bool good) { return largest_of_all(p, good ? 0 : 1) == 0; }

/// Maps memory at an address that is free at all processes. Each node proposes in turn: first where its own system puts
/// the memory, then random places, since those of the system may lie in something large of another process each time.
void* map_symmetric(process& p, size_t size) {
  constexpr unsigned tries = 32;
  for (unsigned i = 0; i < tries; ++i) {
    const bool proposes = p.rank == static_cast<int>(i % static_cast<unsigned>(p.size));
    void* mine = proposes ? map_near(i < static_cast<unsigned>(p.size) ? 0 : random_place(i), size) : nullptr;
    const auto address = static_cast<uintptr_t>(largest_of_all(p, reinterpret_cast<uint64_t>(mine)));
    if (!proposes && address != 0) mine = map_at(address, size);
    if (all_are(p, mine != nullptr)) return mine;
    if (mine != nullptr) munmap(mine, size);
  }
  return nullptr;
}

void remove(process& p, void* at, size_t size) {
  registration_table::endings ended;
  (void)p.memory->remove(reinterpret_cast<uintptr_t>(at), size, ended);
  finish(p, ended);
}

/// Registers the memory and records its size. Returns false, without a change, if there is no memory.
bool keep_symmetric(process& p, void* at, size_t size) {
  try {
    add(p, at, size);
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const lci::resource_error&) {
    return false;
  }
  try {
    p.blocks.add_symmetric(at, size);
    return true;
  } catch (const std::bad_alloc&) {
    remove(p, at, size);
    return false;
  }
}

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (std::max<size_t>(bytes, 1) + page - 1) / page * page;
}

}  // namespace

int CCS_malloc_symmetric(size_t bytes, void** addr) {
  constexpr const char* me = "CCS_malloc_symmetric";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    must_be_able_to_wait(me);
    if (addr != nullptr) *addr = nullptr;
    // A node whose arguments are wrong takes part with a size that no other node can have, so that all fail.
    const size_t size = addr == nullptr || bytes > PTRDIFF_MAX ? 0 : whole_pages(bytes);
    const size_t largest = largest_of_all(*p, size), smallest = ~largest_of_all(*p, ~size);
    if (addr == nullptr) return refuse(me, "addr is NULL, but must be the address of a pointer");
    if (size == 0) return refuse(me, "bytes = %zu, which no memory can hold", bytes);
    if (largest != smallest) return refuse(me, "bytes = %zu, but the nodes ask for different sizes", bytes);
    void* const at = map_symmetric(*p, size);
    if (at == nullptr) return +CCS_NOMEM;
    const bool mine = keep_symmetric(*p, at, size);
    if (all_are(*p, mine)) {
      *addr = at;
      return +CCS_SUCCESS;
    }
    if (mine) {
      (void)p->blocks.take_symmetric(at);
      remove(*p, at, size);
    }
    munmap(at, size);
    return +CCS_NOMEM;
  });
}

int CCS_free_symmetric(void* addr) {
  constexpr const char* me = "CCS_free_symmetric";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    must_be_able_to_wait(me);
    const size_t size = p->blocks.take_symmetric(addr);
    // After the barrier no process accesses the memory. A node whose address is wrong takes part as well, since the
    // others wait for it.
    insist(me, [&] { p->wait_for([&](lci::comp_t done) { lci::barrier_x().device(p->device).comp(done)(); }); });
    if (size == 0)
      return refuse(me, "%s is not from CCS_malloc_symmetric(), or was freed before", lci::address_text(addr).text);
    remove(*p, addr, size);
    munmap(addr, size);
    return +CCS_SUCCESS;
  });
}
