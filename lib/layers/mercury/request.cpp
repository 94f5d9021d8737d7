#include "lib/layers/mercury/request.hpp"

#include <new>

#include "lib/layers/mercury/callback_context.hpp"
#include "lib/layers/mercury/processor.hpp"
#include "lib/layers/mercury/runtime.hpp"
#include "lib/layers/na/direct.hpp"

namespace mercury {

request::request(runtime& r, uint32_t n)
    : owner(r),
      number(n),
      cookie(r.first_cookie()),
      request_(new char[r.largest_request]),
      response_(new char[r.largest_response]) {
  set_alive(false);
}

void request::begin(na_addr_t destination, bool is_self, const function* f) {
  address = destination;
  called = f;
  is_local_ = is_self;
  refs_.store(1, std::memory_order_relaxed);
  set_alive(true);
}

/// Ends a call of the handle, before the next one.
void request::end() {
  hide_arguments();
  is_begun_ = is_decoded_ = false;
  decoded_ = nullptr;
  out = nullptr;
  result_.store(undecided, std::memory_order_relaxed);
  done_.store(false, std::memory_order_relaxed);
}

void request::unref() {
  // The holder of the only reference needs no read-modify-write.
  if (refs_.load(std::memory_order_acquire) != 1 && refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  set_alive(false);
  end();
  callback = nullptr;
  if (context != nullptr) {
    NA_Addr_free(owner.network->na(), address);
    context->handles.fetch_sub(1, std::memory_order_release);
    context = nullptr;
  }
  owner.requests.put(this);
}

hg_return_t request::encode(void* in_struct) {
  char* const begin = request_.get() + sizeof(request_header);
  processor p(begin, owner.largest_request - sizeof(request_header), HG_ENCODE);
  if (called->in_proc != nullptr && in_struct != nullptr)
    if (const hg_return_t result = called->in_proc(&p, in_struct); result != HG_SUCCESS) return result;
  arguments = p.used();
  extra_ = p.release_extra();
  arguments_at = extra_ != nullptr ? static_cast<char*>(extra_) : begin;
  return HG_SUCCESS;
}

hg_return_t request::expose_arguments(request_header& h) {
  na_class_t* na = owner.network->na();
  const elsewhere_header where{arguments, message_check(check_start, extra_, arguments)};
  char* const payload = request_.get() + sizeof h;
  const size_t room = owner.largest_request - sizeof h - sizeof where;
  na_return_t code = NA_Mem_handle_create(na, extra_, arguments, NA_MEM_READ_ONLY, &extra_handle_);
  if (code != NA_SUCCESS) {
    extra_handle_ = NA_MEM_HANDLE_NULL;
    return code_for(code, HG_NA_ERROR);
  }
  code = NA_Mem_register(na, extra_handle_);
  if (code != NA_SUCCESS) return code_for(code, HG_NA_ERROR);
  const size_t size = NA_Mem_handle_get_serialize_size(na, extra_handle_);
  if (size == 0 || size > room) return HG_SIZE_ERROR;
  std::memcpy(payload, &where, sizeof where);
  if (NA_Mem_handle_serialize(na, payload + sizeof where, size, extra_handle_) != NA_SUCCESS) return HG_NA_ERROR;
  h.flags = arguments_are_elsewhere;
  h.payload = static_cast<uint16_t>(sizeof where + size);
  return HG_SUCCESS;
}

void request::hide_arguments() {
  if (extra_handle_ != NA_MEM_HANDLE_NULL) NA_Mem_handle_free(owner.network->na(), extra_handle_);
  extra_handle_ = NA_MEM_HANDLE_NULL;
  if (extra_ != nullptr) hg_proc_buf_free(extra_);
  extra_ = nullptr;
}

hg_return_t request::send() {
  is_begun_ = true;
  ++cookie;
  if (is_local_) {
    if (called->execute == nullptr) {  // as another process answers
      pending_.store(1, std::memory_order_relaxed);
      ref();  // for the answer
      finish(HG_NO_MATCH);
      owner.wake();
      return HG_SUCCESS;
    }
    call* c = nullptr;
    try {
      c = owner.take_call();
    } catch (const std::bad_alloc&) {
      return HG_NOMEM_ERROR;
    }
    ref();  // for the local call
    pending_.store(1, std::memory_order_relaxed);
    c->begin_local(this);
    owner.begin_local(c);
    return HG_SUCCESS;
  }
  request_header h;
  h.id = called->id;
  h.name_hash = called->name_hash;
  h.cookie = cookie;
  if (extra_ == nullptr)
    h.payload = static_cast<uint16_t>(arguments);
  else if (const hg_return_t result = expose_arguments(h); result != HG_SUCCESS)
    return result;
  seal(h, request_.get());
  pending_.store(1, std::memory_order_relaxed);
  // For the answer. The holder of the only reference needs no read-modify-write.
  if (LCI_LIKELY(refs_.load(std::memory_order_acquire) == 1))
    refs_.store(2, std::memory_order_relaxed);
  else
    ref();
  awaited_from_.store(address, std::memory_order_relaxed);
  // From here on the call may end in another thread, whose callback may destroy the handle or use it for another call.
  const uint64_t mine = cookie;
  const na_addr_t to = address;
  awaited_.store(mine, std::memory_order_release);  // Q1; NA orders it before its check of the address
  const size_t size = sizeof h + h.payload;
  const na_return_t tried = NA_Direct_try(owner.network->na(), request_.get(), size, to, tag());
  if (LCI_LIKELY(tried == NA_SUCCESS)) return HG_SUCCESS;
  // A send that fails at once ends the request as one that fails later does.
  if (tried == NA_TIMEOUT) {
    queue(mine, size);
  } else {
    runtime& r = owner;
    if (take(mine)) finish(HG_NA_ERROR);
    r.wake();
  }
  return HG_SUCCESS;
}

void request::queue(uint64_t mine, size_t size) {
  // The call becomes one of two parts. Meanwhile no other thread may end it, as that thread would take it for one of a
  // single part and complete it before the send, whose buffer the next call of the handle would use. If this fails, the
  // peer has left, or has answered what was not sent: then nothing needs to be sent. A thread that ends the call later
  // takes it from Q2, and sees both parts. NA notices a peer that leaves between Q1 and Q2, as it checks the address
  // again.
  if (!take(mine)) return;
  pending_.store(2, std::memory_order_relaxed);
  ref();                                            // for the send
  awaited_.store(mine, std::memory_order_release);  // Q2
  owner.operations.fetch_add(1, std::memory_order_relaxed);
  if (NA_Direct_queue(owner.network->na(), owner.network->context(), on_sent, this, request_.get(), size, address,
                      tag(), &queued_) == NA_SUCCESS)
    return;
  runtime& r = owner;
  if (take(mine)) finish(HG_NA_ERROR);
  complete_one();
  r.operations.fetch_sub(1, std::memory_order_release);
  unref();
  r.wake();
}

na_return_t request::on_sent(const na_cb_info* info) {
  auto* const r = static_cast<request*>(info->arg);
  runtime& owner = r->owner;
  if (info->ret != NA_SUCCESS && r->take(r->cookie)) r->finish(HG_NA_ERROR);
  r->complete_one();
  r->unref();
  owner.operations.fetch_sub(1, std::memory_order_release);
  return NA_SUCCESS;
}

void request::cancel() {
  if (is_local_ || !take(cookie)) return;
  if (pending_.load(std::memory_order_relaxed) > 1) NA_Cancel(owner.network->na(), owner.network->context(), queued_);
  runtime& r = owner;
  finish(HG_FAIL);
  r.wake();
}

void request::on_departure(na_addr_t peer) {
  const uint64_t awaited = awaited_.load(std::memory_order_acquire);
  if (awaited != 0 && awaited_from_.load(std::memory_order_relaxed) == peer && take(awaited)) finish(HG_NA_ERROR);
}

void request::on_response(na_addr_t source, const void* data, size_t size) {
  const uint64_t awaited = awaited_.load(std::memory_order_acquire);
  if (awaited == 0 || awaited_from_.load(std::memory_order_relaxed) != source) return;
  response_header h;
  hg_return_t result = size <= owner.largest_response ? open_response(data, size, awaited, h) : HG_PROTOCOL_ERROR;
  if (result == HG_SUCCESS) {
    const bool is_ours = h.cookie == awaited || (h.cookie == 0 && h.result != HG_SUCCESS);
    if (!is_ours) return;  // the answer to an earlier call, which was cancelled
  }
  if (!take(awaited)) return;
  if (result == HG_SUCCESS) {
    std::memcpy(response_.get() + sizeof h, static_cast<const char*>(data) + sizeof h, h.payload);
    response_size_ = h.payload;
    result = static_cast<hg_return_t>(h.result);
  }
  finish(result);
}

void request::finish(hg_return_t result) {
  result_.store(result, std::memory_order_relaxed);
  complete_one();
  unref();
}

void request::deliver(const char* message, size_t size) {
  response_header h;
  std::memcpy(&h, message, sizeof h);
  std::memcpy(response_.get(), message, size);
  response_size_ = h.payload;
  result_.store(h.result, std::memory_order_relaxed);
  runtime& r = owner;
  complete_one();
  r.finished_local();
}

void request::complete_one() {
  // If the number is 1, no other thread changes it, and no read-modify-write is needed. Otherwise the last thread to
  // decrement sees the writes of the others (acquire-release), and R1 publishes all of them to the waiting thread.
  if (pending_.load(std::memory_order_acquire) != 1 && pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  callback_context* const c = context;
  if (c != nullptr) ref();                       // for the queue
  done_.store(true, std::memory_order_release);  // R1
  if (c != nullptr) c->completed.push(&completed_);
}

hg_return_t request::decode(void* out_struct) {
  if (result() != HG_SUCCESS) return result();
  if (is_decoded_) return decode_result_;
  is_decoded_ = true;
  decode_result_ = decode_again(out_struct);
  if (decode_result_ == HG_SUCCESS && called->out_proc != nullptr) decoded_ = out_struct;
  return decode_result_;
}

hg_return_t request::decode_again(void* out_struct) {
  if (called->out_proc == nullptr || out_struct == nullptr) return HG_SUCCESS;
  processor p(response_.get() + sizeof(response_header), response_size_, HG_DECODE);
  const hg_return_t result = called->out_proc(&p, out_struct);
  if (result != HG_SUCCESS) mercury::free_decoded(p, called->out_proc, out_struct);
  return result;
}

void request::free_decoded() {
  if (decoded_ == nullptr) return;
  processor p(nullptr, 0, HG_FREE);
  called->out_proc(&p, decoded_);
  decoded_ = nullptr;
}

}  // namespace mercury
