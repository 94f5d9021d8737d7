#include "lib/layers/mercury/call.hpp"

#include <new>

#include "lib/layers/mercury/callback_context.hpp"
#include "lib/layers/mercury/processor.hpp"
#include "lib/layers/mercury/runtime.hpp"
#include "lib/layers/na/direct.hpp"

namespace mercury {

call::call(runtime& r)
    : owner(r),
      fetch_(r.operations, r.fetched),
      input_(new char[r.largest_request]),
      output_(new char[r.largest_response]) {
  set_alive(false);
  if (NA_Direct_reserve(r.network->na()) != NA_SUCCESS) throw std::bad_alloc();  // so that an answer is never lost
}

size_t call::output_size() const { return owner.largest_response - sizeof(response_header); }

bool call::arrive(na_addr_t from, na_tag_t tag, const void* data, size_t size) {
  refs_.store(1, std::memory_order_relaxed);
  source = from;
  tag_ = tag;
  size_ = size;
  if (size > owner.largest_request) return false;
  std::memcpy(input_.get(), data, size);
  return true;
}

void call::begin_local(request* caller) {
  refs_.store(1, std::memory_order_relaxed);
  is_accepted_ = true;
  caller_ = caller;
  called = caller->called;
  cookie_ = caller->cookie;
  source = caller->address;
  arguments_at = caller->arguments_at;
  arguments = caller->arguments;
  set_alive(true);
}

hg_return_t call::accept() {
  if (is_accepted_) return HG_SUCCESS;
  is_accepted_ = true;
  const hg_return_t result = size_ <= owner.largest_request ? open_request() : HG_PROTOCOL_ERROR;
  if (result != HG_SUCCESS && result != HG_TIMEOUT) answer_error(result);
  return result;
}

hg_return_t call::open_request() {
  request_header h;
  if (const hg_return_t result = open(input_.get(), size_, h); result != HG_SUCCESS) return result;
  cookie_ = h.cookie;
  called = owner.functions.find(h.id);
  if (called == nullptr || called->name_hash != h.name_hash || called->execute == nullptr) return HG_NO_MATCH;
  if ((h.flags & arguments_are_elsewhere) != 0) {
    const hg_return_t result = fetch(h);
    return result == HG_SUCCESS ? HG_TIMEOUT : result;
  }
  arguments = h.payload;
  arguments_at = input_.get() + sizeof h;
  set_alive(true);
  return HG_SUCCESS;
}

hg_return_t call::fetch(const request_header& h) {
  na_class_t* const na = owner.network->na();
  if (const hg_return_t result = fetch_.open(na, source, input_.get() + sizeof h, h.payload); result != HG_SUCCESS)
    return result;
  arguments = fetch_.arguments();
  extra_ = hg_proc_buf_alloc(arguments);
  if (extra_ == nullptr) return HG_NOMEM_ERROR;
  return fetch_.start(na, owner.network->context(), extra_, on_arguments, this);
}

na_return_t call::on_arguments(const na_cb_info* info) {
  auto* c = static_cast<call*>(info->arg);
  runtime& r = c->owner;
  if (const hg_return_t result = c->fetch_.result(info); result == HG_SUCCESS) {
    c->arguments_at = static_cast<char*>(c->extra_);
    c->set_alive(true);
    r.arrived(c);
  } else {
    c->answer_error(result);
    c->unref();
  }
  r.operations.fetch_sub(1, std::memory_order_release);
  return NA_SUCCESS;
}

hg_return_t call::input(void* in_struct) {
  if (called->in_proc == nullptr || in_struct == nullptr) return HG_SUCCESS;
  // The processor takes a pointer to non-const, but a decoder does not write.
  processor p(const_cast<char*>(arguments_at), arguments, HG_DECODE);
  const hg_return_t result = called->in_proc(&p, in_struct);
  if (result != HG_SUCCESS) free_decoded(p, called->in_proc, in_struct);
  return result;
}

hg_return_t call::answer(void* out_struct) {
  processor p(output(), output_size(), HG_ENCODE);
  hg_return_t result = HG_SUCCESS;
  if (called->out_proc != nullptr && out_struct != nullptr) result = called->out_proc(&p, out_struct);
  if (result == HG_SUCCESS && p.extra() != nullptr) result = HG_SIZE_ERROR;
  if (result != HG_SUCCESS) leave();  // HG_Respond() fails, so no callback runs when the caller has been told why
  const hg_return_t sent = send(result, result == HG_SUCCESS ? p.used() : 0);
  return result != HG_SUCCESS ? result : sent;
}

hg_return_t call::answer_error(hg_return_t result) { return send(result, 0); }

hg_return_t call::answer_raw(size_t size) { return send(HG_SUCCESS, size); }

hg_return_t call::send(hg_return_t result, size_t payload) {
  const auto note_answer = [this] { is_answered_.store(true, std::memory_order_release); };
  response_header h;
  h.result = result;
  h.payload = static_cast<uint16_t>(payload);
  h.cookie = cookie_;
  if (caller_ != nullptr) {
    std::memcpy(output_.get(), &h, sizeof h);  // without a checksum, as the message does not leave the process
    caller_->deliver(output_.get(), sizeof h + payload);
    note_answer();
    if (context != nullptr) sent(HG_SUCCESS);
    return HG_SUCCESS;
  }
  const size_t size = seal_response(h, output_.get());
  na_class_t* const na = owner.network->na();
  const na_tag_t tag = tag_ | na::answer_bit;
  const na_return_t tried = NA_Direct_try(na, output_.get(), size, source, tag);
  if (tried == NA_TIMEOUT) {
    ref();  // for the send
    owner.operations.fetch_add(1, std::memory_order_relaxed);
  }
  note_answer();  // a callback that frees the handle may run as soon as the answer is queued
  if (LCI_LIKELY(tried == NA_SUCCESS)) {
    if (context != nullptr) sent(HG_SUCCESS);
    return HG_SUCCESS;
  }
  if (tried != NA_TIMEOUT) return HG_NA_ERROR;
  if (NA_Direct_queue(na, owner.network->context(), on_sent, this, output_.get(), size, source, tag, NA_OP_ID_IGNORE) ==
      NA_SUCCESS)
    return HG_SUCCESS;
  owner.operations.fetch_sub(1, std::memory_order_release);
  unref();
  return HG_NA_ERROR;
}

na_return_t call::on_sent(const na_cb_info* info) {
  auto* c = static_cast<call*>(info->arg);
  runtime& r = c->owner;
  if (c->context != nullptr) c->sent(info->ret == NA_SUCCESS ? HG_SUCCESS : HG_NA_ERROR);
  c->unref();
  r.operations.fetch_sub(1, std::memory_order_release);
  return NA_SUCCESS;
}

void call::sent(hg_return_t result) {
  ref();  // for the queue
  completed_.result = result;
  context->completed.push(&completed_);
  owner.wake();
}

void call::unref() {
  // The holder of the only reference needs no read-modify-write.
  if (refs_.load(std::memory_order_acquire) != 1 && refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  set_alive(false);
  if (extra_ != nullptr) hg_proc_buf_free(extra_);
  extra_ = nullptr;
  fetch_.free(owner.network->na());
  if (caller_ != nullptr) caller_->unref();  // `source` is not freed, as NA's addresses own no memory
  caller_ = nullptr;
  source = NA_ADDR_NULL;
  called = nullptr;
  cookie_ = 0;
  is_answered_.store(false, std::memory_order_relaxed);
  is_accepted_ = false;
  is_left_ = false;
  leave();
  owner.calls.put(this);
}

}  // namespace mercury
