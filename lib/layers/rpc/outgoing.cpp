#include "lib/layers/rpc/outgoing.hpp"

#include <new>
#include <thread>
#include <utility>

#include "lib/layers/mercury/message_check.hpp"
#include "lib/layers/rpc/core.hpp"
#include "lib/layers/rpc/exceptions.hpp"
#include "lib/layers/rpc/region.hpp"

namespace lci::rpc::detail {

using mercury::request_header;
using mercury::response_header;

namespace {
outcome failure_of(na_return_t code) { return code == NA_NOMEM_ERROR ? outcome::no_memory : outcome::peer_failed; }
}  // namespace

outgoing::outgoing(engine_core& e, uint32_t number)
    : owner(e),
      number_(number),
      request_room_(e.largest_request - sizeof(request_header)),
      request_(new char[e.largest_request]),
      response_(new char[e.largest_response]),
      cookie_(e.first_cookie()) {
  freeing_.call = this;
  freeing_.run = [](continuation* c) { static_cast<freeing*>(c)->call->unref(); };
}

void outgoing::begin(const remote_function* f, na_addr_t peer) {
  function_ = f;
  peer_ = peer;
  awaited_from_.store(f != nullptr ? peer : NA_ADDR_NULL, std::memory_order_relaxed);
  awaited_.store(++cookie_, std::memory_order_release);
  // NA checks the peer's address when it sends: either it finds that the peer has disconnected, or on_departure() finds
  // this call.
  refs_.store(1, std::memory_order_release);
}

bool outgoing::ref_if_used() {
  return owner.calls.under_lock([&] {
    if (refs_.load(std::memory_order_acquire) == 0) return false;
    ref();
    return true;
  });
}

void outgoing::post(writer& arguments, std::unique_ptr<kept> owned) {
  request_header h;
  h.id = function_->id;
  h.name_hash = function_->name_hash;
  h.signature = function_->signature->hash;
  h.flags = mercury::takes_parts;
  h.cookie = cookie_;
  if (LCI_LIKELY(!arguments.has_moved() && arguments.pieces().empty())) {
    h.payload = static_cast<uint16_t>(arguments.used());
  } else {
    owned_ = std::move(owned);
    holds_memory_ = true;
    if (!expose(arguments, h)) {
      finish(outcome::no_memory);
      return;
    }
    if (LCI_UNLIKELY(awaited_.load(std::memory_order_acquire) == 0)) return;  // expose() has hidden the arguments
  }
  mercury::seal(h, request_.get());
  const size_t size = sizeof h + h.payload;
  const na_return_t tried = NA_Direct_try(owner.na(), request_.get(), size, peer_, tag());
  if (LCI_LIKELY(tried == NA_SUCCESS)) return;
  const na_return_t queued = tried == NA_TIMEOUT ? queue(size) : tried;
  if (queued != NA_SUCCESS) finish(failure_of(queued));
}

na_return_t outgoing::queue(size_t size) {
  na_return_t code = NA_SUCCESS;
  ref();  // of the send
  owner.operations.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard guard(send_lock_);
    code = NA_Direct_queue(owner.na(), owner.context(), on_sent, this, request_.get(), size, peer_, tag(), &queued_);
    is_queued_ = code == NA_SUCCESS;
    // Another thread may have ended the call already, and found no send to cancel.
    if (LCI_UNLIKELY(awaited_.load(std::memory_order_acquire) == 0)) cancel_send();
    if (LCI_LIKELY(is_queued_)) return code;
  }
  unref();
  owner.operations.fetch_sub(1, std::memory_order_release);
  return code;
}

void outgoing::cancel_send() {
  if (is_queued_) NA_Cancel(owner.na(), owner.context(), queued_);
}

bool outgoing::expose(writer& w, request_header& h) {
  size_t total = w.used();
  for (const auto& p : w.pieces()) total += p.size;
  // The arguments do not fit in the message. They stay in memory of their own, and the message describes that memory.
  const char* encoded = w.data();
  if (w.has_moved()) {
    extra_ = w.release_extra();
  } else {
    extra_.reset(new char[w.used()]);
    std::memcpy(extra_.get(), w.data(), w.used());
  }
  encoded = extra_.get();
  std::vector<na_segment> segments;
  segments.reserve(2 * w.pieces().size() + 1);
  uint32_t check = mercury::check_start;
  const auto add = [&](const void* data, size_t n) {
    if (n == 0) return;
    segments.push_back({reinterpret_cast<na_ptr_t>(data), n});
    check = mercury::message_check(check, data, n);
  };
  size_t at = 0;
  for (const auto& p : w.pieces()) {
    add(encoded + at, p.after - at);
    add(p.data, p.size);
    at = p.after;
  }
  add(encoded + at, w.used() - at);
  na_class_t* const na = owner.na();
  na_mem_handle_t made = NA_MEM_HANDLE_NULL;
  if (NA_Mem_handle_create_segments(na, segments.data(), segments.size(), NA_MEM_READ_ONLY, &made) != NA_SUCCESS)
    return false;
  const mercury::elsewhere_header where{total, check};
  const size_t size = NA_Mem_register(na, made) == NA_SUCCESS ? NA_Mem_handle_get_serialize_size(na, made) : 0;
  char* const payload = room().data;
  if (size == 0 || size > request_room_ - sizeof where ||
      NA_Mem_handle_serialize(na, payload + sizeof where, size, made) != NA_SUCCESS) {
    NA_Mem_handle_free(na, made);
    return false;
  }
  std::memcpy(payload, &where, sizeof where);
  h.flags |= mercury::arguments_are_elsewhere;
  h.payload = static_cast<uint16_t>(sizeof where + size);
  // Another thread may have ended the call already, at its deadline or as the engine closes. Either it has released the
  // lock before, so that this thread sees the end, or it will hide the arguments.
  const std::lock_guard guard(send_lock_);
  exposed_ = made;
  if (peer_ == owner.self()) exposed_segments_ = std::move(segments);
  if (LCI_UNLIKELY(awaited_.load(std::memory_order_acquire) == 0)) hide_arguments();
  return true;
}

void outgoing::transfer(bool is_pull, std::shared_ptr<region> remote, size_t remote_offset,
                        std::shared_ptr<region> local, size_t local_offset, size_t size) {
  remote_ = std::move(remote);
  local_ = std::move(local);
  holds_memory_ = true;
  ref();  // of the operation
  owner.operations.fetch_add(1, std::memory_order_relaxed);
  const auto start = is_pull ? NA_Get : NA_Put;
  const na_return_t code = start(owner.na(), owner.context(), on_transferred, this, local_->memory(), local_offset,
                                 remote_->memory(), remote_offset, size, peer_, NA_OP_ID_IGNORE);
  if (code == NA_SUCCESS) return;
  finish(failure_of(code));
  unref();
  owner.operations.fetch_sub(1, std::memory_order_release);
}

na_return_t outgoing::on_transferred(const na_cb_info* info) {
  auto* c = static_cast<outgoing*>(info->arg);
  engine_core& e = c->owner;
  c->finish(info->ret == NA_SUCCESS ? outcome::answered : failure_of(info->ret));
  c->unref();
  e.operations.fetch_sub(1, std::memory_order_release);
  return NA_SUCCESS;
}

na_return_t outgoing::on_sent(const na_cb_info* info) {
  auto* c = static_cast<outgoing*>(info->arg);
  engine_core& e = c->owner;
  {
    std::lock_guard guard(c->send_lock_);
    c->is_queued_ = false;
  }
  if (LCI_UNLIKELY(info->ret != NA_SUCCESS)) c->finish(failure_of(info->ret));
  c->unref();
  e.operations.fetch_sub(1, std::memory_order_release);
  return NA_SUCCESS;
}

void outgoing::on_departure(na_addr_t peer) {
  if (!ref_if_used()) return;
  if (function_ != nullptr && peer_ == peer) finish(outcome::peer_failed);
  unref_later();
}

void outgoing::on_response(na_addr_t source, const void* data, size_t size) {
  const uint64_t awaited = awaited_.load(std::memory_order_acquire);
  if (awaited == 0 || awaited_from_.load(std::memory_order_relaxed) != source) return;
  response_header h;
  const hg_return_t opened =
      size <= owner.largest_response ? mercury::open_response(data, size, awaited, h) : HG_PROTOCOL_ERROR;
  if (LCI_UNLIKELY(opened != HG_SUCCESS)) {
    take(awaited, opened == HG_CHECKSUM_ERROR ? outcome::checksum : outcome::damaged);
    return;
  }
  if (LCI_UNLIKELY(h.cookie != awaited && (h.cookie != 0 || h.result == HG_SUCCESS))) return;  // for an earlier call
  const char* const payload = static_cast<const char*>(data) + sizeof h;
  if (LCI_UNLIKELY((h.flags & mercury::is_part) != 0)) {
    if (!ref_if_used()) return;
    if (awaited_.load(std::memory_order_acquire) == awaited) add_part(payload, h.payload);
    return unref_later();
  }
  if (!claim(awaited)) return;
  if (LCI_UNLIKELY(parts_.any())) return end(outcome::damaged);  // of another result than this one
  if (h.payload > 0) std::memcpy(response_.get() + sizeof h, payload, h.payload);
  code_ = h.result;
  flags_ = h.flags;
  result_size_ = h.payload;
  end(outcome::answered);
}

void outgoing::add_part(const char* payload, size_t size) {
  holds_memory_ = true;
  switch (parts_.add(payload, size, owner.largest_response, owner.largest)) {
    case result_parts::state::incomplete:
      break;
    case result_parts::state::complete:
      finish(outcome::answered);
      break;
    case result_parts::state::damaged:
      finish(outcome::damaged);
      break;
    case result_parts::state::too_large:
      result_size_ = parts_.size();
      finish(outcome::too_large);
      break;
    case result_parts::state::no_memory:
      finish(outcome::no_memory);
      break;
  }
}

bool outgoing::claim(uint64_t awaited) {
  if (awaited == 0) return false;
  std::lock_guard guard(owner.ends_lock);
  if (awaited_.load(std::memory_order_relaxed) != awaited) return false;
  awaited_.store(0, std::memory_order_relaxed);
  return true;
}

void outgoing::end(outcome o) {
  outcome_ = o;
  if (LCI_UNLIKELY(has_timer.load(std::memory_order_acquire))) owner.remove_timer(*this);  // A1: see expire_timers()
  engine_core& e = owner;
  std::lock_guard guard(e.ends_lock);
  continuation* const waiting = state_.load(std::memory_order_relaxed);
  state_.store(&done_mark, std::memory_order_release);  // D1
  if (waiting != nullptr) e.soon(waiting);              // under the lock: see withdraw()
}

void outgoing::await_end() const {
  while (!is_done()) std::this_thread::yield();  // it copies a message, or waits for a copy, at most
}

void outgoing::give_up(outcome o) {
  if (is_done()) return;
  if (!claim(awaited_.load(std::memory_order_acquire))) return await_end();
  const bool is_transfer = function_ == nullptr;  // NA completes it
  // Before the call is done: then the program may free arguments that it still owns.
  if (!is_transfer) detach();
  end(o);
  if (!is_transfer) owner.wake();
}

void outgoing::detach() {
  std::lock_guard guard(send_lock_);
  hide_arguments();
  cancel_send();
}

void outgoing::hide_arguments() {
  if (exposed_ == NA_MEM_HANDLE_NULL) return;
  NA_Mem_handle_free(owner.na(), exposed_);
  exposed_ = NA_MEM_HANDLE_NULL;
  while (copies_.load(std::memory_order_acquire) != 0) std::this_thread::yield();  // C2: pairs with C1
  exposed_segments_.clear();
}

bool outgoing::copy_arguments(uint64_t cookie, char* to, size_t size) {
  {
    std::lock_guard guard(send_lock_);
    if (exposed_ == NA_MEM_HANDLE_NULL || cookie_ != cookie) return false;
    size_t total = 0;
    for (const na_segment& s : exposed_segments_) total += s.size;
    if (total != size) return false;
    copies_.fetch_add(1, std::memory_order_relaxed);
  }
  for (const na_segment& s : exposed_segments_) {
    std::memcpy(to, reinterpret_cast<const char*>(s.address), s.size);
    to += s.size;
  }
  copies_.fetch_sub(1, std::memory_order_release);  // C1
  return true;
}

bool outgoing::notify(continuation& c) {
  std::lock_guard guard(owner.ends_lock);
  if (is_done()) return false;
  state_.store(&c, std::memory_order_release);
  return true;
}

void outgoing::withdraw(continuation& c) {
  std::lock_guard guard(owner.ends_lock);
  // end() moves the continuation from state_ to the engine's queue under this lock. So it is in one of the two, unless
  // it has run.
  if (is_done())
    owner.forget(c);
  else
    state_.store(nullptr, std::memory_order_relaxed);
}

void outgoing::unref() {
  // A count of 1 can't change while this thread holds the lock: the one reference is the caller's, and threads without
  // a reference take one only under the lock.
  bool was_last = false;
  const bool is_put = owner.calls.put_if(this, [&] {
    was_last = refs_.load(std::memory_order_relaxed) == 1;
    if (LCI_UNLIKELY(!was_last)) {
      refs_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    refs_.store(0, std::memory_order_relaxed);
    if (LCI_UNLIKELY(holds_memory_)) return false;
    reset();
    return true;
  });
  if (LCI_UNLIKELY(was_last && !is_put)) free();
}

void outgoing::unref_later() {
  const bool is_last = owner.calls.under_lock([&] {
    if (refs_.load(std::memory_order_relaxed) == 1) return true;
    refs_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  });
  if (LCI_UNLIKELY(is_last)) owner.soon(&freeing_);
}

void outgoing::reset() {
  code_ = 0;
  flags_ = 0;
  result_size_ = 0;
  state_.store(nullptr, std::memory_order_relaxed);
}

void outgoing::free() {
  {
    // The engine's end hides the arguments of every call under this lock, and then ends NA.
    std::lock_guard guard(send_lock_);
    hide_arguments();
  }
  extra_.reset();
  owned_.reset();
  remote_.reset();
  local_.reset();
  parts_.clear();
  holds_memory_ = false;
  reset();
  owner.calls.put(this);
}

template <class Taken>
outgoing* engine_core::take_call_and(Taken taken) {
  return calls.take(
      [this](size_t number) {
        auto made = std::make_unique<outgoing>(*this, static_cast<uint32_t>(number));
        by_number_.put(number, made.get());
        return made;
      },
      taken);
}

outgoing* engine_core::take_call() {
  return take_call_and([](outgoing&) {});
}

outgoing* engine_core::take_call_to_post() {
  // close() sets the flag before it takes the lock: it finds this call, or this thread finds the flag.
  bool is_refused = false;
  outgoing* const c = take_call_and([&](outgoing& taken) {
    is_refused = closing_.load(std::memory_order_relaxed);
    if (LCI_LIKELY(!is_refused)) taken.begin_posting();
  });
  if (LCI_LIKELY(!is_refused)) return c;
  calls.put(c);
  throw_closed();
}

void engine_core::on_departure(na_addr_t peer) {
  lane_->note_event();
  for (size_t n = 0; outgoing* const c = by_number_.get(n); ++n) c->on_departure(peer);
  for (work_queue<incoming>* queue : {&unread_, &arrived_, workers_ != nullptr ? &workers_->waiting() : nullptr})
    for (incoming* in = queue != nullptr ? queue->on_departure(peer) : nullptr; in != nullptr;)
      std::exchange(in, in->next)->unref();
}

}  // namespace lci::rpc::detail
