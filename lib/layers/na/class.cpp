#include "lib/layers/na/class.hpp"

#include "lib/layers/na/context.hpp"
#include "lib/layers/na/transfer.hpp"

using na::operation;

bool na_class::advance(unsigned most) {
  waiting.post_some(*this);
  introduced.answer_some();
  unexpected.report_some();
  direct.pay_some();
  try {
    const auto poll = lci::progress_x().runtime(runtime).device(device);
    for (; most > 1; --most)
      if (poll().is_done()) return true;
    return poll().is_done();
  } catch (const lci::peer_failure_error& e) {
    forget_failed(e);
    return true;
  }
}

void na_class::forget_failed(const lci::peer_failure_error& e) {
  if (e.failed_rank() <= 0) return;
  const auto rank = static_cast<uint32_t>(e.failed_rank());
  direct.on_departure(book->of(rank));
  book->forget(book->current(rank));
  introduced.on_failure(rank);
  direct.end(book->current(rank));  // the address is stale; this disconnects
  direct.pay_some();
}

void na_class::end_peers_of(const na_context_t* context) {
  operations.for_each_used([&](const operation& op) {
    const na_cb_type_t type = op.type.load(std::memory_order_relaxed);
    if (op.context.load(std::memory_order_relaxed) != context) return;
    if (type != NA_CB_LOOKUP && type != NA_CB_RECV_UNEXPECTED) direct.end(op.peer);
  });
}

void na_class::finish(operation* op, lci::status_t status) {
  status.user_context = op;
  op->context.load(std::memory_order_relaxed)->signal(status);
}

operation* na_class::begin(na_context_t* context, na_cb_type_t type, na_cb_t callback, void* arg) {
  operation* const op = operations.take(context, type);
  op->callback = callback;
  op->arg = arg;
  return op;
}

operation* na_class::begin_answer(na_context_t* context, na_cb_type_t type, na_cb_t callback, void* arg) {
  operation* const op = operations.take_for_answer(context, type);
  op->callback = callback;
  op->arg = arg;
  return op;
}

bool na_class::post(operation* op) {
  return with_peer(op->peer, [&] { return post_to(op); });
}

bool na_class::post_to(operation* op) {
  if (!book->valid(op->peer)) throw lci::peer_failure_error(static_cast<int>(op->peer.rank), "the peer has gone");
  const int rank = static_cast<int>(op->peer.rank);
  const na_cb_type_t type = op->type.load(std::memory_order_relaxed);
  const bool put = type == NA_CB_PUT;
  lci::status_t status;
  lci::operation_t name;
  if (type == NA_CB_SEND_UNEXPECTED || type == NA_CB_SEND_EXPECTED) {
    if (op->direct) {
      if (!direct.send(op->peer, op->buffer, op->size, op->tag)) return false;
      finish(op, lci::errorcode_t::done);
      return true;
    }
    if (type == NA_CB_SEND_UNEXPECTED) {
      if (!unexpected.send(op->peer, op->buffer, op->size, op->tag)) return false;
      finish(op, lci::errorcode_t::done);
      return true;
    }
    status = lci::post_send_x(rank, op->buffer, op->size, op->tag, lci::COMP_NULL_RETRY).device(device)();
    if (status.is_retry()) return false;
    finish(op, status);
    return true;
  }
  const na::transfer& t = *op->moved;
  const lci::comp_t done = op->context.load(std::memory_order_relaxed)->comp();
  op->one_is_done.store(false, std::memory_order_relaxed);
  if (t.contiguous && put) {
    status = lci::post_put_x(rank, t.local, op->size, done, t.offset, t.rmr)
                 .device(device)
                 .comp_semantic(lci::comp_semantic_t::remote)
                 .allow_done(false)
                 .user_context(op)
                 .operation(&name)();
  } else if (t.contiguous) {
    status = lci::post_get_x(rank, t.local, op->size, done, t.offset, t.rmr)
                 .device(device)
                 .allow_done(false)
                 .user_context(op)
                 .operation(&name)();
  } else {
    const lci::layout_t here = lci::layout_t::iovec(t.local_pieces.data(), t.local_pieces.size());
    const lci::layout_t there = lci::layout_t::remote(t.remote_pieces.data(), t.remote_pieces.size());
    if (put)
      status = lci::post_put_x(rank, nullptr, op->size, done, 0, lci::RMR_NULL)
                   .device(device)
                   .layout(&here)
                   .remote_layout(&there)
                   .comp_semantic(lci::comp_semantic_t::remote)
                   .allow_done(false)
                   .user_context(op)
                   .operation(&name)();
    else
      status = lci::post_get_x(rank, nullptr, op->size, done, 0, lci::RMR_NULL)
                   .device(device)
                   .layout(&here)
                   .remote_layout(&there)
                   .allow_done(false)
                   .user_context(op)
                   .operation(&name)();
  }
  if (status.is_retry()) {
    op->one_is_done.store(true, std::memory_order_relaxed);
    return false;
  }
  posted(op, name);
  return true;
}

void na_class::posted(operation* op, lci::operation_t name) {
  op->core_serial.store(name.serial, std::memory_order_relaxed);
  op->core_name.store(name.impl, std::memory_order_release);
  done_with(op);
}

void na_class::start(operation* op) { waiting.start(*this, op); }

void na_class::wake_leader() {
  const std::lock_guard guard(contexts_mutex);
  for (na_context_t* const context : contexts) context->wake_leader();
}

void na_class::done_with(operation* op) {
  // Acquire and release: the second caller, which frees the operation, sees all writes of the first.
  if (op->one_is_done.exchange(true, std::memory_order_acq_rel)) operations.give_back(op);
}
