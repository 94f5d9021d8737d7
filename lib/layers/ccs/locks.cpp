// Locks that handlers and threads may hold, and no-interrupt sections, in which no handlers run.
#include <sched.h>

#include "lib/base/cpu.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/thread_state.hpp"

using namespace ccs;

namespace {

// The states of a lock; any other value is not a lock. CCS_LOCK_INITIALIZER is a free one.
constexpr unsigned free_one = 0, held = 1, destroyed = 0xdeadu;

bool is_lock(const char* function, const CCS_lock_t* lock) {
  if (lock == nullptr) {
    (void)refuse(function, "lock is NULL, but must be the address of a lock");
    return false;
  }
  const unsigned state = __atomic_load_n(&lock->state, __ATOMIC_RELAXED);
  if (LCI_LIKELY(state == free_one || state == held)) return true;
  (void)refuse(function, "%p is no lock: it was destroyed, or not initialized by CCS_lock_init()",
               static_cast<const void*>(lock));
  return false;
}

bool try_once(CCS_lock_t* lock) {
  unsigned expected = free_one;
  if (!__atomic_compare_exchange_n(&lock->state, &expected, held, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return false;
  __atomic_store_n(&lock->owner, static_cast<void*>(&tls), __ATOMIC_RELAXED);
  ++tls.locks;
  ++tls.busy;
  return true;
}

bool is_mine(const CCS_lock_t* lock) {
  return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == &tls &&
         __atomic_load_n(&lock->state, __ATOMIC_RELAXED) == held;
}

}  // namespace

int CCS_lock_init(CCS_lock_t* lock) {
  if (lock == nullptr) return refuse("CCS_lock_init", "lock is NULL, but must be the address of a lock");
  *lock = CCS_LOCK_INITIALIZER;
  return CCS_SUCCESS;
}

int CCS_lock(CCS_lock_t* lock) {
  constexpr const char* me = "CCS_lock";
  if (!is_lock(me, lock)) return CCS_FAILURE;
  if (LCI_LIKELY(try_once(lock))) return CCS_SUCCESS;
  if (is_mine(lock))
    fail(me, "this thread holds the lock %p already, and would wait for itself", static_cast<void*>(lock));
  // Spinning can't deadlock with this thread's own stack: a thread that holds a lock runs no handlers.
  for (unsigned i = 1; !try_once(lock); ++i) i % 256 != 0 ? lci::cpu_pause() : (void)sched_yield();
  return CCS_SUCCESS;
}

int CCS_trylock(CCS_lock_t* lock) {
  if (!is_lock("CCS_trylock", lock)) return CCS_FAILURE;
  return try_once(lock) ? CCS_SUCCESS : CCS_AGAIN;
}

int CCS_unlock(CCS_lock_t* lock) {
  constexpr const char* me = "CCS_unlock";
  if (!is_lock(me, lock)) return CCS_FAILURE;
  if (!is_mine(lock)) return refuse(me, "this thread does not hold the lock %p", static_cast<void*>(lock));
  --tls.locks;
  --tls.busy;
  __atomic_store_n(&lock->owner, static_cast<void*>(nullptr), __ATOMIC_RELAXED);
  __atomic_store_n(&lock->state, free_one, __ATOMIC_RELEASE);
  return CCS_SUCCESS;
}

int CCS_lock_destroy(CCS_lock_t* lock) {
  constexpr const char* me = "CCS_lock_destroy";
  if (!is_lock(me, lock)) return CCS_FAILURE;
  if (__atomic_load_n(&lock->state, __ATOMIC_RELAXED) == held)
    return refuse(me, "the lock %p is held: call CCS_unlock() first", static_cast<void*>(lock));
  __atomic_store_n(&lock->state, destroyed, __ATOMIC_RELAXED);
  return CCS_SUCCESS;
}

int CCS_nointerrupt_begin(void) {
  ++tls.sections;
  ++tls.busy;
  return CCS_SUCCESS;
}

int CCS_nointerrupt_end(void) {
  if (tls.sections == 0) return refuse("CCS_nointerrupt_end", "this thread is in no such section");
  --tls.sections;
  --tls.busy;
  return CCS_SUCCESS;
}
