#include "lib/layers/v1/thread_state.hpp"

#include <cstdlib>
#include <mutex>
#include <new>

#include "lib/base/insist_on_memory.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/storage.hpp"

namespace v1 {

namespace {

// All states there are, and those without a thread. Constant-initialised and never destroyed, as threads may end after
// the library's globals.
constinit std::mutex registry_mutex;
constinit V1_STORAGE thread_state* all_states = nullptr;   // under registry_mutex
constinit V1_STORAGE thread_state* idle_states = nullptr;  // under registry_mutex

/// Leaves the state to other threads when its own ends.
struct state_holder {
  thread_state* state = nullptr;
  ~state_holder() {
    if (state == nullptr) return;
    detail::tls_state = detail::tls_without_bell = nullptr;
    give_back_records(*state);
    std::lock_guard guard(registry_mutex);
    state->next_idle = idle_states;
    idle_states = state;
  }
};
thread_local state_holder holder;

}  // namespace

thread_state& detail::adopt_state() {
  std::unique_lock guard(registry_mutex);
  thread_state* s = idle_states;
  if (s != nullptr) {
    idle_states = s->next_idle;
  } else {
    // The system zeroes the pages when they are first used, which is when their endpoints are. The allocation is
    // repeated, as the thread may be delivering a message, which must not be lost, or have sent one.
    s = lci::insist_on_memory([] {
      void* const zeros = std::calloc(1, sizeof(thread_state));
      if (zeros == nullptr) throw std::bad_alloc();
      return static_cast<thread_state*>(zeros);
    });
    s->room_for_records = most_free_records;
    s->next = all_states;
    all_states = s;
  }
  guard.unlock();
  holder.state = s;
  tls_state = tls_without_bell = s;
  return *s;
}

totals totals_of(unsigned id) {
  totals sum;
  std::lock_guard guard(registry_mutex);
  for (const thread_state* s = all_states; s != nullptr; s = s->next) {
    sum.sent += s->of_id[id].sent.load(std::memory_order_relaxed);
    sum.delivered += s->of_id[id].delivered.load(std::memory_order_acquire);  // A1
  }
  return sum;
}

}  // namespace v1
