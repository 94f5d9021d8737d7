// Initialization and finalization, contexts, progress.
#include <atomic>
#include <mutex>
#include <thread>

#include "lib/layers/ccs/messages.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/process.hpp"

using namespace ccs;

namespace {

// Serializes CCS_init() and CCS_finalize(), which count their calls.
std::mutex life_mutex;
unsigned n_inits = 0;
std::atomic<bool> is_ending{false};  // while the last CCS_finalize() holds the mutex and waits for handlers

/// Locks the mutex. Returns false if the last CCS_finalize() holds it and waits until no handler runs and no lock is
/// held: a thread that is in a handler or holds a lock would wait for it forever.
bool can_begin(std::unique_lock<std::mutex>& guard) {
  if (tls.busy == 0) {
    guard.lock();
    return true;
  }
  while (!guard.try_lock()) {
    if (is_ending.load(std::memory_order_acquire)) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

int CCS_init() {
  constexpr const char* me = "CCS_init";
  return or_code(me, [&] {
    std::unique_lock guard(life_mutex, std::defer_lock);
    if (!can_begin(guard))
      return refuse(me,
                    "called in a handler or callback, in a no-interrupt section, or with a lock held, while the last "
                    "CCS_finalize() ends CCS: call it before, or after that has returned");
    if (n_inits == 0) the_process.store(process::make(), std::memory_order_release);
    ++n_inits;
    return +CCS_SUCCESS;
  });
}

int CCS_finalize() {
  constexpr const char* me = "CCS_finalize";
  return or_code(me, [&] {
    if (current(me) == nullptr) return +CCS_FAILURE;
    must_be_able_to_wait(me);
    std::lock_guard guard(life_mutex);
    process* const p = current(me);  // another thread may have ended CCS meanwhile
    if (p == nullptr) return +CCS_FAILURE;
    if (n_inits == 1) {
      is_ending.store(true, std::memory_order_release);
      p->become_quiet();
      is_ending.store(false, std::memory_order_release);
      the_process.store(nullptr, std::memory_order_release);
      delete p;
    }
    --n_inits;
    return +CCS_SUCCESS;
  });
}

int CCS_new_context(CCS_context_t* context) {
  constexpr const char* me = "CCS_new_context";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    if (context == nullptr) return refuse(me, "context is NULL, but must be the address of a context");
    if (!p->handlers.add_context(*context)) return refuse(me, "there are %d contexts, no more fit", CCS_MAX_CONTEXTS);
    return +CCS_SUCCESS;
  });
}

int CCS_barrier() {
  constexpr const char* me = "CCS_barrier";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    must_be_able_to_wait(me);
    p->wait_for([&](lci::comp_t done) { lci::barrier_x().device(p->device).comp(done)(); });
    return +CCS_SUCCESS;
  });
}

int CCS_get_size(CCS_node_t* size) {
  constexpr const char* me = "CCS_get_size";
  const process* const p = current(me);
  if (p == nullptr) return CCS_FAILURE;
  if (size == nullptr) return refuse(me, "size is NULL, but must be the address of a number");
  *size = static_cast<CCS_node_t>(p->size);
  return CCS_SUCCESS;
}

int CCS_get_rank(CCS_node_t* rank) {
  constexpr const char* me = "CCS_get_rank";
  const process* const p = current(me);
  if (p == nullptr) return CCS_FAILURE;
  if (rank == nullptr) return refuse(me, "rank is NULL, but must be the address of a number");
  *rank = static_cast<CCS_node_t>(p->rank);
  return CCS_SUCCESS;
}

void CCS_poll() {
  constexpr const char* me = "CCS_poll";
  process* const p = current(me);
  if (p == nullptr) return;
  if (LCI_UNLIKELY(tls.locks > 0 && tls.running == 0))
    fail(me, "called with a lock held, which a handler may be waiting for: call CCS_unlock() first");
  or_fail(me, [&] { p->poll(); });
}
