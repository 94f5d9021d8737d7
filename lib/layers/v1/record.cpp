#include "lib/layers/v1/record.hpp"

#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/storage.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

namespace {

// Threads that post are often not those that make progress, so records wander from these to those: in batches.
constexpr int batch = most_free_records / 2;
constinit lci::spinlock lock;
constinit V1_STORAGE record* free_list = nullptr;  // under lock; linked by next_free
constinit V1_STORAGE record* all = nullptr;        // under lock; linked by next

/// Number of free records in the thread's list.
int kept_by(const thread_state& mine) { return most_free_records - mine.room_for_records; }

[[gnu::noinline]] void hand_on(thread_state& mine, int kept) {
  std::lock_guard guard(lock);
  while (kept_by(mine) > kept) {
    record* r = mine.free_records;
    mine.free_records = r->next_free;
    ++mine.room_for_records;
    r->what = record::role::shared;
    r->next_free = free_list;
    free_list = r;
  }
}

}  // namespace

void refill(thread_state& mine) {
  {
    std::lock_guard guard(lock);
    while (free_list != nullptr && kept_by(mine) < batch) {
      record* r = free_list;
      free_list = r->next_free;
      r->what = record::role::kept;
      r->next_free = mine.free_records;
      mine.free_records = r;
      --mine.room_for_records;
    }
  }
  if (mine.free_records != nullptr) return;
  record* r = new record;
  r->what = record::role::kept;
  r->next_free = nullptr;
  mine.free_records = r;
  mine.room_for_records = most_free_records - 1;
  std::lock_guard guard(lock);
  r->next = all;
  all = r;
}

namespace {

LCI_ALWAYS_INLINE inline void give_back(record* r, thread_state& mine) {
  r->what = record::role::kept;
  r->next_free = mine.free_records;
  mine.free_records = r;
  if (LCI_UNLIKELY(--mine.room_for_records < 0)) hand_on(mine, batch);
}

}  // namespace

void give_back(record* r) { give_back(r, my_state()); }

void give_back_records(thread_state& state) { hand_on(state, 0); }

void free_records() {
  hand_on(my_state(), 0);
  std::lock_guard guard(lock);
  free_list = nullptr;
  for (record** link = &all; *link != nullptr;) {
    record* r = *link;
    if (r->what == record::role::kept) {  // by another thread
      link = &r->next;
    } else {
      *link = r->next;
      delete r;
    }
  }
}

void record::signal(lci::status_t s) {
  // The most common case: a short message of one word, for a synchronizer that is empty. It makes no call but at the
  // end, so that no registers need saving.
  thread_state* const mine = detail::tls_without_bell;
  if (LCI_LIKELY(what == role::short_receive) && LCI_LIKELY(s.error == lci::errorcode_t::done) &&
      LCI_LIKELY(s.size == 8) && LCI_LIKELY(mine != nullptr) &&
      LCI_LIKELY(to->try_deliver_end([this, &s](LCI_request_t& r) {
        begin_request(r, LCI_OK, s.rank, user_tag_of(s.tag), LCI_IMMEDIATE);
        r.data.immediate.words[0] = request.data.immediate.words[0];
        r.data.immediate.words[1] = r.data.immediate.words[2] = r.data.immediate.words[3] = 0;
        r.user_context = request.user_context;
      }))) {
    lci::increment_own(mine->of_id[id_of(s.tag)].delivered);
    return give_back(this, *mine);
  }
  signal_otherwise(s);
}

void record::signal_otherwise(lci::status_t s) {
  thread_state& mine = my_state();
  request.flag = flag_of(s);
  const issued_operations::delivering delivers(is_issued() ? &endpoint->issued : nullptr, period);
  if (!is_issued()) {
    request.rank = s.rank;
    end_checked_receive(*endpoint);
    if (what == role::short_receive || what == role::checked_short_receive) {
      request.tag = user_tag_of(s.tag);  // LCI_recvs() does not store it
      request.type = LCI_IMMEDIATE;
      if (LCI_UNLIKELY(!fill_short(request.data.immediate, s.size))) request.flag = LCI_ERR_FATAL;
    } else if (what == role::medium_receive) {
      request.type = LCI_MEDIUM;
      request.data.mbuffer = {s.buffer, s.size};
    } else if (what == role::long_receive) {
      if (LCI_UNLIKELY(detail::checks) && request.data.lbuffer.address == nullptr) record_allocated(s.buffer);
      request.data.lbuffer.address = s.buffer;
      request.data.lbuffer.length = s.size;
    }
  }
  // Counts the message and frees the record, also if a handler throws. It does so after the delivery, so that a thread
  // that has waited for a fence finds the completion. It must not use the endpoint, which the thread that gets the
  // completion may free.
  struct ending {
    record* r;
    thread_state& mine;
    const unsigned id;
    ~ending() {
      // A target that is not signalled does not count the message either.
      if (!r->is_issued() || (LCI_UNLIKELY(r->request.flag != LCI_OK) && r->what == role::notifying))
        lci::increment_own_release(mine.of_id[id].delivered);
      give_back(r, mine);
    }
  } const guard{this, mine, endpoint->id};
  to->deliver_end(mine, [this](LCI_request_t& r) { r = request; });
}

void undo(record* r) {
  if (r->is_issued())
    r->endpoint->issued.withdraw(r->period);
  else
    end_checked_receive(*r->endpoint);
  give_back(r);
}

void begin_checked_receive(LCI_endpoint_s& endpoint) {
  if (LCI_UNLIKELY(detail::checks)) endpoint.checked_receives.fetch_add(1, std::memory_order_relaxed);
}

void end_checked_receive(LCI_endpoint_s& endpoint) {
  if (LCI_UNLIKELY(detail::checks)) endpoint.checked_receives.fetch_sub(1, std::memory_order_relaxed);
}

void begin_issued(record* r) { r->period = r->endpoint->issued.begin(); }

}  // namespace v1
