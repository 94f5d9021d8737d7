// The state of outstanding operations whose request (LCI_request_t) needs more than the core's status contains.
#pragma once

#include <lci.h>

#include <lci.hpp>

#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/comp.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/thread_state.hpp"

struct LCI_endpoint_s;

namespace v1 {

/// The completion object that the core signals at the end of one operation. Records are reused. The posting thread owns
/// a record until the operation is posted; after that signal() owns it, delivers the request and returns the record to
/// the free ones.
///
/// A receive of a short message uses the first two cache lines: the function that the core calls and the arguments of
/// the receive in the first, all else in the second. A window of posted receives then fits the first cache together
/// with the core's operations and the synchronizers.
struct alignas(lci::cache_line) record final : lci::comp_impl_t {
  enum class role : uint8_t {
    kept,    ///< free, in the list of a thread
    shared,  ///< free, in the list of all threads
    short_receive,
    checked_short_receive,  ///< in the checking mode, for which signal() has no fast path
    medium_receive,         ///< in the checking mode; otherwise receives of medium messages have no record
    long_receive,
    issued,    ///< by this rank
    notifying  ///< issued, and the target's completion object is signalled if it succeeds
  };
  bool is_issued() const { return what >= role::issued; }

  LCI_request_t request;
  comp* to;
  union {
    LCI_endpoint_s* endpoint;  ///< of an operation
    record* next_free;         ///< of a free record
  };
  role what;
  uint8_t period;  ///< of an issued operation
  record* next;    ///< of all records, under the lock of the shared ones

  void signal(lci::status_t status) override;

 private:
  [[gnu::noinline]] void signal_otherwise(lci::status_t status);
};

/// Sets the words of a short message that were not sent to 0. Returns false if short messages never have this size.
LCI_ALWAYS_INLINE inline bool fill_short(LCI_short_t& s, size_t size) {
  if (size == 8) s.words[1] = 0;
  if (size <= 16) s.words[2] = s.words[3] = 0;
  return size == 8 || size == 16 || size == sizeof s;
}

/// Gets free records for a thread that has none. Throws std::bad_alloc.
[[gnu::cold, gnu::noinline]] void refill(thread_state& mine);
/// Takes a free record. Of its request it sets the user context only. `mine`: the calling thread's state, which must
/// have a free record.
LCI_ALWAYS_INLINE inline record* take_record(thread_state& mine, LCI_endpoint_s* endpoint, record::role what, comp& to,
                                             void* user_context) {
  record* r = mine.free_records;
  mine.free_records = r->next_free;
  ++mine.room_for_records;
  r->to = &to;
  r->endpoint = endpoint;
  r->what = what;
  r->request.user_context = user_context;
  return r;
}
/// Takes a free record, or allocates one if the calling thread has none. Sets all fields of its request that are known
/// when the operation is posted, except the type. Throws std::bad_alloc.
LCI_ALWAYS_INLINE inline record* take_record(LCI_endpoint_s* endpoint, record::role what, comp& to, int rank,
                                             LCI_tag_t tag, void* user_context) {
  thread_state& mine = my_state();
  if (LCI_UNLIKELY(mine.free_records == nullptr)) refill(mine);
  record* const r = take_record(mine, endpoint, what, to, user_context);
  r->request.rank = rank;
  r->request.tag = tag;
  return r;
}
void give_back(record* r);
/// Returns the free records of a thread that ends.
void give_back_records(thread_state& state);
/// Frees all records, also those of receives that no message has matched. Called by LCI_finalize().
void free_records();

/// Counts the record's operation as issued, until it is signalled or undone.
void begin_issued(record* r);
/// In the checking mode: counts a receive of the endpoint that is posted, or complete or not posted after all.
void begin_checked_receive(LCI_endpoint_s& endpoint);
void end_checked_receive(LCI_endpoint_s& endpoint);
/// Returns a record whose operation was not posted.
void undo(record* r);

/// Posts the operation of a record by `post()`. If that returns retry or throws, the record is returned; otherwise it
/// is signalled, now or later.
template <class F>
LCI_ALWAYS_INLINE inline LCI_error_t post_recorded(record* r, F post) {
  struct undoing {
    record* r;
    ~undoing() {
      if (LCI_UNLIKELY(r != nullptr)) undo(r);
    }
  } unposted{r};
  const lci::status_t status = post();
  if (LCI_UNLIKELY(status.is_retry())) return refused();
  unposted.r = nullptr;
  if (LCI_UNLIKELY(!status.is_posted())) r->signal(status);
  return LCI_OK;
}

/// The same for an issued operation.
template <class F>
inline LCI_error_t post_issued(record* r, F post) {
  begin_issued(r);
  return post_recorded(r, post);
}

}  // namespace v1
