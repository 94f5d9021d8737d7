#include "lib/layers/na/direct_messages.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include "lib/layers/na/active_messages.hpp"
#include "lib/layers/na/arguments.hpp"
#include "lib/layers/na/class.hpp"
#include "lib/layers/na/context.hpp"
#include "lib/layers/na/errors.hpp"

namespace na {

namespace {
/// The context for which the thread is in NA_Direct_poll().
constinit thread_local const na_context_t* polled_here __attribute__((tls_model("initial-exec"))) = nullptr;
}  // namespace

/// A scope of NA_Direct_poll().
struct inside_poll {
  explicit inside_poll(const na_context_t* c) { polled_here = c; }
  ~inside_poll() { polled_here = nullptr; }
};

direct_messages::direct_messages(na_class& c)
    : class_(c), most_(static_cast<int32_t>(c.most_calls)), departures_(*this) {}

void direct_messages::open() {
  peers_ = std::make_unique<peer[]>(class_.book->last() + 1);
  handler_ = lci::alloc_am_handler_x(on_message).runtime(class_.runtime).user_context(this)();
  open_channel(class_, channel::direct_messages, handler_);
  on_new_peer(0, class_.most_calls);
}

void direct_messages::close() {
  if (!handler_.is_empty()) lci::free_comp_x(&handler_).runtime(class_.runtime)();
}

void direct_messages::attach(na_context* context, direct_receiver* to) {
  const std::lock_guard guard(lock_);
  receiver_ = to;
  context_ = context;
  for (const early& m : early_) to->on_message(m.source, m.tag, m.bytes.data(), m.bytes.size());
  early_.clear();
}

void direct_messages::detach() {
  const std::lock_guard guard(lock_);
  receiver_ = nullptr;
  context_ = nullptr;
}

LCI_ALWAYS_INLINE inline void direct_messages::receive(na_addr_t source, uint32_t rank, na_tag_t tag, const void* data,
                                                       size_t size) {
  const std::lock_guard guard(lock_);
  if ((tag & answer_bit) == 0) {
    peer& caller = peers_[rank];
    const uint32_t arrived = caller.arrived.load(std::memory_order_relaxed);
    // Negative if this process has answered a call twice.
    if (LCI_UNLIKELY(static_cast<int32_t>(arrived - caller.replied()) >= most_)) return refuse_call(rank);
    caller.arrived.store(arrived + 1, std::memory_order_relaxed);
  } else if ((tag & more_bit) == 0) {
    peers_[rank].count_answer();
  }
  if (receiver_ != nullptr) {
    receiver_->on_message(source, tag, data, size);
    // In NA_Direct_poll() this thread is the only one that waits for the context.
    if (LCI_UNLIKELY(polled_here != context_)) context_->end_round();
  } else {
    const char* const begin = static_cast<const char*>(data);
    try {
      early_.push_back({source, tag, std::vector<char>(begin, begin + size)});
    } catch (const std::bad_alloc&) {
      end(class_.book->current(rank));  // the caller would wait for ever
    }
  }
}

void direct_messages::on_message(void* self, int rank, const void* data, size_t size, lci::tag_t tag) {
  auto& me = *static_cast<direct_messages*>(self);
  const na_addr_t source = source_of(me.class_, rank);
  if (LCI_LIKELY(source != NA_ADDR_NULL))
    me.receive(source, static_cast<uint32_t>(rank), static_cast<na_tag_t>(tag), data, size);
}

void direct_messages::refuse_call(uint32_t rank) {
  const addr caller = class_.book->current(rank);
  const uint64_t before = peers_[rank].to_end.load(std::memory_order_relaxed);
  if (before == (peer::is_to_end | caller.generation)) return;  // its connection is about to be ended
  refuse(NA_PROTOCOL_ERROR, "NA_Progress",
         "a peer has sent more than %u calls without waiting for answers; its connection is ended",
         static_cast<unsigned>(most_));
  end(caller);
}

void direct_messages::revoke(peer& p, na_tag_t tag) {
  if ((tag & answer_bit) == 0) {
    const std::lock_guard guard(lock_);
    p.count_answer();
  } else if ((tag & more_bit) == 0) {
    p.replied_by_others.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool direct_messages::becomes_answerer(uintptr_t me) {
  if (last_answerer_.exchange(me, std::memory_order_relaxed) != me) return false;
  uintptr_t nobody = 0;
  return answerer_.compare_exchange_strong(nobody, me, std::memory_order_relaxed);
}

void direct_messages::on_new_peer(uint32_t rank, uint32_t most_calls) {
  peer& p = peers_[rank];
  const std::lock_guard guard(lock_);
  p.most.store(std::max(most_calls, 1u), std::memory_order_relaxed);
  p.arrived.store(p.replied(), std::memory_order_relaxed);
}

LCI_ALWAYS_INLINE inline bool direct_messages::count_sent(peer& p, na_tag_t tag) {
  if ((tag & answer_bit) == 0) {
    const std::lock_guard guard(calls_lock_);  // U1
    const uint32_t sent = p.sent.load(std::memory_order_relaxed);
    if (LCI_UNLIKELY(sent - p.answered.load(std::memory_order_relaxed) >= p.most.load(std::memory_order_relaxed)))
      return false;
    p.sent.store(sent + 1, std::memory_order_relaxed);
  } else if ((tag & more_bit) == 0) {
    if (LCI_LIKELY(is_answerer()))
      lci::increment_own(p.replied_here);
    else
      p.replied_by_others.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

LCI_ALWAYS_INLINE inline na_return_t direct_messages::try_send(addr to, const void* buffer, size_t size, na_tag_t tag) {
  lci::core::device* const device = class_.device.p_impl;
  const lci::detail::device_front& front = lci::detail::front_of(device);
  if (LCI_UNLIKELY(size >= front.direct_end || front.not_plain.load(std::memory_order_acquire) != 0)) return NA_TIMEOUT;
  peer& p = peers_[to.rank];
  if (LCI_UNLIKELY(!count_sent(p, tag))) return NA_TIMEOUT;
  const lci::errorcode_t sent = lci::detail::inject_am(
      device, static_cast<int>(to.rank), static_cast<lci::rcomp_t>(channel::direct_messages), tag, buffer, size);
  if (LCI_UNLIKELY(sent != lci::errorcode_t::done)) return revoke(p, tag), NA_TIMEOUT;
  if ((tag & answer_bit) != 0) return NA_SUCCESS;
  return LCI_LIKELY(class_.book->still_valid(to)) ? NA_SUCCESS : NA_PROTOCOL_ERROR;  // G2
}

bool direct_messages::send(addr to, const void* buffer, size_t size, na_tag_t tag) {
  peer& p = peers_[to.rank];
  if (!count_sent(p, tag)) return false;
  try {
    if (!post(class_, to, channel::direct_messages, buffer, size, tag)) return revoke(p, tag), false;
  } catch (...) {
    revoke(p, tag);
    throw;
  }
  if (LCI_UNLIKELY((tag & answer_bit) == 0 && !class_.book->still_valid(to)))  // G2
    throw lci::peer_failure_error(static_cast<int>(to.rank), "the peer has gone");
  return true;
}

bool direct_messages::watch(addr to) {
  if (to.rank == 0) return true;
  if (peers_[to.rank].watched.exchange(to.generation, std::memory_order_relaxed) == to.generation) return true;
  bool is_posted = false;
  try {
    is_posted = class_.with_peer(to, [&] {
      return !lci::post_recv_x(static_cast<int>(to.rank), nullptr, 0, 0, lci::comp_t(&departures_))
                  .device(class_.device)
                  .matching_policy(lci::matching_policy_t::rank_only)
                  .allow_done(false)
                  .user_context(class_.book->of(to.rank))()
                  .is_retry();
    });
  } catch (const std::exception& e) {
    peers_[to.rank].watched.store(0, std::memory_order_relaxed);
    if (!is_shortage(e)) throw;
  }
  if (!is_posted) peers_[to.rank].watched.store(0, std::memory_order_relaxed);
  return is_posted;
}

direct_messages::departures::departures(direct_messages& m) : lci::comp_impl_t(lci::comp_attr_t{}), messages_(m) {}

void direct_messages::departures::signal(lci::status_t status) { messages_.on_departure(status.user_context); }

void direct_messages::on_departure(na_addr_t value) {
  addr gone{};
  if (!class_.book->decode(value, &gone)) return;
  class_.book->forget(gone);  // G1
  if (!is_peer(class_.book->current(gone.rank))) class_.unexpected.on_departure(gone.rank, value);
  const std::lock_guard guard(lock_);
  peer& p = peers_[gone.rank];
  {
    const std::lock_guard calls_guard(calls_lock_);  // U2
    p.answered.store(p.sent.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  if (receiver_ == nullptr) {
    early_.erase(std::remove_if(early_.begin(), early_.end(), [&](const early& m) { return m.source == value; }),
                 early_.end());
    return;
  }
  receiver_->on_departure(value);
  context_->end_round();
}

// --- what waits for memory ---

void direct_messages::note_debt() {
  if (!owes_.exchange(true, std::memory_order_seq_cst)) class_.wake_leader();
}

void direct_messages::owe(addr to, na_tag_t tag, const void* bytes, size_t size) {
  {
    const std::lock_guard guard(owed_lock_);
    if (n_owed_ < most_owed) {
      owed_[n_owed_++] = {to, tag, bytes, size};
      to.rank = 0;
    }
  }
  to.rank == 0 ? note_debt() : end(to);
}

void direct_messages::end(addr peer) {
  if (peer.rank == 0) return;
  peers_[peer.rank].to_end.store(peer::is_to_end | peer.generation, std::memory_order_release);
  note_debt();
}

/// Returns false if there is none, or it must wait.
bool direct_messages::pay_oldest() {
  owed next;
  {
    const std::lock_guard guard(owed_lock_);
    if (n_owed_ == 0) return false;
    next = owed_[--n_owed_];
  }
  try {
    if (!class_.book->valid(next.to) || send(next.to, next.bytes, next.size, next.tag)) return true;
  } catch (const lci::peer_failure_error&) {
    return true;
  }
  owe(next.to, next.tag, next.bytes, next.size);
  return false;
}

void direct_messages::end_now(uint32_t rank) {
  const uint64_t which = peers_[rank].to_end.exchange(0, std::memory_order_acquire);
  const auto generation = static_cast<uint32_t>(which);
  if (which == 0 || !class_.book->valid({rank, generation})) return;
  if (generation % 2 == 1) {  // there is a peer
    on_departure(class_.book->of(rank));
    class_.introduced.on_failure(rank);
  }
  try {
    lci::disconnect_x(static_cast<int>(rank)).runtime(class_.runtime).device(class_.device)();
  } catch (const lci::invalid_argument_error&) {  // another thread has disconnected
  } catch (const std::exception& e) {
    if (!is_shortage(e)) throw;
    end(class_.book->current(rank));
  }
}

void direct_messages::pay() {
  owes_.store(false, std::memory_order_seq_cst);
  while (pay_oldest()) {
  }
  for (uint32_t rank = 1; rank <= class_.book->last(); ++rank)
    if (peers_[rank].to_end.load(std::memory_order_relaxed) != 0) end_now(rank);
}

}  // namespace na

using na::addr;
using na::check;

na_bool_t NA_Direct_address(const na_class_t* na_class, na_addr_t value, na_bool_t* is_self) {
  addr a;
  if (!na_class->book->decode(value, &a)) return NA_FALSE;
  *is_self = a.rank == 0 ? NA_TRUE : NA_FALSE;
  return NA_TRUE;
}

na_return_t NA_Direct_open(na_class_t* na_class, na_context_t* context, na::direct_receiver* to) {
  return na::guarded("NA_Direct_open", [&] { return na_class->direct.attach(context, to), NA_SUCCESS; });
}

void NA_Direct_close(na_class_t* na_class) {
  na_class->direct.detach();
  na_class->operations.end_reserve();
}

na_return_t NA_Direct_reserve(na_class_t* na_class) {
  return na::guarded("NA_Direct_reserve", [&] { return na_class->operations.reserve(), NA_SUCCESS; });
}

void NA_Direct_release(na_class_t* na_class) { na_class->operations.release(); }

void NA_Direct_owe(na_class_t* na_class, const void* bytes, na_size_t size, na_addr_t dest, na_tag_t tag) {
  addr to;
  if (check("NA_Direct_owe", na_class, dest, &to) == NA_SUCCESS) na_class->direct.owe(to, tag, bytes, size);
}

namespace {
LCI_NOINLINE na_return_t try_otherwise(na_class_t* na_class, const void* buf, na_size_t buf_size, na_addr_t dest,
                                       na_tag_t tag) {
  constexpr const char* function = "NA_Direct_try";
  addr to;
  if (const na_return_t bad = check(function, na_class, dest, &to)) return bad;
  if (na_class->waiting.any()) return NA_TIMEOUT;  // queued messages are sent first
  return na::guarded(function, [&] { return na_class->direct.send(to, buf, buf_size, tag) ? NA_SUCCESS : NA_TIMEOUT; });
}
}  // namespace

na_return_t NA_Direct_try(na_class_t* na_class, const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag) {
  addr to;
  if (LCI_LIKELY(na_class->book->decode(dest, &to) && na_class->book->valid(to) && !na_class->waiting.any())) {
    const na_return_t sent = na_class->direct.try_send(to, buf, buf_size, tag);
    if (LCI_LIKELY(sent != NA_TIMEOUT)) return sent;
  }
  return try_otherwise(na_class, buf, buf_size, dest, tag);
}

na_return_t NA_Direct_queue(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg, const void* buf,
                            na_size_t buf_size, na_addr_t dest, na_tag_t tag, na_op_id_t* op_id) {
  addr to;
  if (const na_return_t bad = check("NA_Direct_queue", na_class, dest, &to)) return bad;
  return na::guarded("NA_Direct_queue", [&] {
    const bool is_answer = (tag & na::answer_bit) != 0;
    na::operation* const op = is_answer ? na_class->begin_answer(context, NA_CB_SEND_UNEXPECTED, callback, arg)
                                        : na_class->begin(context, NA_CB_SEND_UNEXPECTED, callback, arg);
    op->peer = to;
    op->buffer = const_cast<void*>(buf);
    op->size = buf_size;
    op->tag = tag;
    op->direct = true;
    na::tell(op_id, na::operation_pool::id_of(*op));
    try {
      na_class->start(op);
    } catch (...) {
      na_class->operations.give_back(op);
      throw;
    }
    return NA_SUCCESS;
  });
}

na_size_t NA_Direct_call_bytes(na_class_t* na_class) { return na_class->call_bytes; }

void NA_Direct_end_peers(na_class_t* na_class, na_context_t* context) { na_class->end_peers_of(context); }

void NA_Direct_wake(na_context_t* context) { context->end_round(); }

na_return_t NA_Direct_poll(na_class_t* na_class, na_context_t* context, unsigned most) {
  return na::guarded("NA_Direct_poll", [&] {
    if (!context->any()) {
      const na::inside_poll mark(context);
      na_class->progress(most);
    }
    return context->any() ? NA_SUCCESS : NA_TIMEOUT;
  });
}
