// What each thread keeps for itself, so that threads write nothing in common per message: counts and free records.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lci/completion.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/own_counter.hpp"
#include "lib/layers/v1/ids.hpp"

namespace v1 {

struct record;

/// Numbers of messages by endpoint, for LCI_gfence_wait(). Written by the owning thread only (hence no locked
/// instruction), read by any.
struct message_counts {
  std::atomic<uint64_t> sent{0};       ///< messages that end at a peer
  std::atomic<uint64_t> delivered{0};  ///< messages of peers that have ended here
};

/// A thread with more free records gives some to the others.
constexpr int most_free_records = 64;

/// Of one thread at a time. A thread that ends leaves it, with its counts, to a later one. Never freed.
struct thread_state {
  message_counts of_id[max_ids];
  record* free_records = nullptr;
  int room_for_records;              ///< how many more free records the thread keeps
  lci::comp_impl_t* bell = nullptr;  ///< signalled by deliveries of this thread while it waits; see exchange_bell()
  thread_state* next = nullptr;      // of all states, under the registry's lock
  thread_state* next_idle = nullptr;
};

namespace detail {
inline constinit thread_local thread_state* tls_state __attribute__((tls_model("initial-exec"))) = nullptr;
/// The same, but null while the thread has a bell: a delivery that finds it has nothing to ring.
inline constinit thread_local thread_state* tls_without_bell __attribute__((tls_model("initial-exec"))) = nullptr;
[[gnu::cold, gnu::noinline]] thread_state& adopt_state();
}  // namespace detail

inline thread_state& my_state() {
  thread_state* s = detail::tls_state;
  return LCI_LIKELY(s != nullptr) ? *s : detail::adopt_state();
}

/// Sets the calling thread's bell. Returns the one that it had.
inline lci::comp_impl_t* exchange_bell(lci::comp_impl_t* bell) {
  thread_state& mine = my_state();
  detail::tls_without_bell = bell == nullptr ? &mine : nullptr;
  return std::exchange(mine.bell, bell);
}

/// The offset in bytes of an endpoint's counts in each thread's state.
constexpr uint32_t counts_offset(unsigned id) {
  return static_cast<uint32_t>(offsetof(thread_state, of_id) + id * sizeof(message_counts));
}
inline message_counts& counts_at(thread_state& mine, uint32_t offset) {
  return *reinterpret_cast<message_counts*>(reinterpret_cast<std::byte*>(&mine) + offset);
}
inline void count_sent(unsigned id) { lci::increment_own(my_state().of_id[id].sent); }
inline void count_delivered(unsigned id) { lci::increment_own_release(my_state().of_id[id].delivered); }

/// Counts a message as delivered when its delivery has ended, also by an exception. So a thread that has waited for a
/// group fence finds the message.
class delivery_count {
 public:
  explicit delivery_count(unsigned id) : counts_(my_state().of_id[id]) {}
  ~delivery_count() { lci::increment_own_release(counts_.delivered); }
  delivery_count(const delivery_count&) = delete;
  delivery_count& operator=(const delivery_count&) = delete;

 private:
  message_counts& counts_;
};

struct totals {
  uint64_t sent = 0, delivered = 0;
  totals operator-(const totals& o) const { return {sent - o.sent, delivered - o.delivered}; }
};
/// Sums of all threads.
totals totals_of(unsigned id);

}  // namespace v1
