#include "lib/layers/mercury/request.hpp"

#include "lib/layers/mercury/callback_context.hpp"
#include "lib/layers/mercury/processor.hpp"
#include "lib/layers/mercury/runtime.hpp"

namespace mercury {

request::request(runtime& r)
    : owner(r), request_(new char[r.largest_request]), response_(new char[r.largest_response]) {
  set_alive(false);
}

void request::begin(na_addr_t destination, const function* f) {
  address = destination;
  called = f;
  is_local_ = NA_Addr_is_self(owner.network->na(), destination) == NA_TRUE;
  refs_.store(1, std::memory_order_relaxed);
  set_alive(true);
}

/// Between two calls of one handle.
void request::end() {
  hide_arguments();
  is_begun_ = is_decoded_ = false;
  decoded_ = nullptr;
  out = nullptr;
  result_.store(undecided, std::memory_order_relaxed);
  done_.store(false, std::memory_order_relaxed);
}

void request::unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
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
  char* const payload = request_.get() + sizeof h;
  const size_t room = owner.largest_request - sizeof h;
  if (NA_Mem_handle_create(na, extra_, arguments, NA_MEM_READ_ONLY, &extra_handle_) != NA_SUCCESS) {
    extra_handle_ = NA_MEM_HANDLE_NULL;
    return HG_NA_ERROR;
  }
  if (NA_Mem_register(na, extra_handle_) != NA_SUCCESS) return HG_NA_ERROR;
  const size_t size = NA_Mem_handle_get_serialize_size(na, extra_handle_);
  if (size == 0 || size > room) return HG_SIZE_ERROR;
  if (NA_Mem_handle_serialize(na, payload, size, extra_handle_) != NA_SUCCESS) return HG_NA_ERROR;
  h.flags = arguments_are_elsewhere;
  h.elsewhere_crc = crc64(crc64_start, extra_, arguments);
  h.payload = static_cast<uint32_t>(size);
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
  cookie = owner.next_cookie();
  if (is_local_) {
    call* c = owner.calls.take(owner);
    ref();  // of the call
    pending_.store(1, std::memory_order_relaxed);
    c->begin_local(this);
    owner.local_calls.push(c);
    return HG_SUCCESS;
  }
  request_header h;
  h.id = called->id;
  h.name_hash = called->name_hash;
  h.cookie = cookie;
  h.arguments = arguments;
  h.payload = static_cast<uint32_t>(arguments);
  if (extra_ != nullptr)
    if (const hg_return_t result = expose_arguments(h); result != HG_SUCCESS) return result;
  seal(h, request_.get());
  tag_ = owner.next_tag();
  pending_.store(2, std::memory_order_relaxed);
  if (const hg_return_t result = post_receive(); result != HG_SUCCESS) return result;
  ref();  // of the send
  owner.operations.fetch_add(1, std::memory_order_relaxed);
  // A send that fails at once ends like one that fails later, as the receive is under way.
  if (NA_Msg_send_unexpected(owner.network->na(), owner.network->context(), on_sent, this, request_.get(),
                             sizeof h + h.payload, address, tag_, NA_OP_ID_IGNORE) != NA_SUCCESS)
    sent(false);
  return HG_SUCCESS;
}

hg_return_t request::post_receive() {
  ref();  // of the receive
  owner.operations.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard guard(receive_lock_);
    receives_ = NA_Msg_recv_expected(owner.network->na(), owner.network->context(), on_response, this, response_.get(),
                                     owner.largest_response, address, tag_, &receive_) == NA_SUCCESS;
    if (receives_) return HG_SUCCESS;
  }
  owner.operations.fetch_sub(1, std::memory_order_release);
  unref();
  return HG_NA_ERROR;
}

void request::cancel() {
  decide(HG_FAIL);
  cancel_receive();
}

void request::cancel_receive() {
  std::lock_guard guard(receive_lock_);
  if (receives_) NA_Cancel(owner.network->na(), owner.network->context(), receive_);
}

na_return_t request::on_sent(const na_cb_info* info) {
  static_cast<request*>(info->arg)->sent(info->ret == NA_SUCCESS);
  return NA_SUCCESS;
}

void request::sent(bool is_well) {
  runtime& r = owner;
  if (!is_well) {
    decide(HG_NA_ERROR);
    cancel_receive();
  }
  complete_one();
  unref();
  r.operations.fetch_sub(1, std::memory_order_release);
}

na_return_t request::on_response(const na_cb_info* info) {
  auto* r = static_cast<request*>(info->arg);
  runtime& owner = r->owner;
  {
    std::lock_guard guard(r->receive_lock_);
    r->receives_ = false;
  }
  if (r->received(info->ret)) r->complete_one();
  r->unref();
  owner.operations.fetch_sub(1, std::memory_order_release);
  return NA_SUCCESS;
}

bool request::received(na_return_t result) {
  if (result != NA_SUCCESS) {
    decide(result == NA_SIZE_ERROR ? HG_SIZE_ERROR : HG_NA_ERROR);
    return true;
  }
  response_header h;
  const hg_return_t opened = open(response_.get(), owner.largest_response, false, h);
  if (opened != HG_SUCCESS) {
    decide(opened);
  } else if (h.cookie == cookie || (h.cookie == 0 && h.result != HG_SUCCESS)) {
    response_size_ = h.payload;
    decide(static_cast<hg_return_t>(h.result));
  } else {
    // The response to a call that was abandoned, which had the same tag: ours is still to come.
    if (!is_decided() && post_receive() == HG_SUCCESS) return false;
    decide(HG_NA_ERROR);
  }
  return true;
}

void request::deliver(const char* message, size_t size) {
  response_header h;
  std::memcpy(&h, message, sizeof h);
  std::memcpy(response_.get(), message, size);
  response_size_ = h.payload;
  decide(static_cast<hg_return_t>(h.result));
  runtime& r = owner;
  complete_one();
  r.finished_local();
}

void request::decide(hg_return_t result) {
  int expected = undecided;
  result_.compare_exchange_strong(expected, result, std::memory_order_relaxed);
}

void request::complete_one() {
  // The last one sees what the others have done; R1 shows all of it to whoever waits.
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  callback_context* const c = context;
  if (c != nullptr) ref();                       // of the queue
  done_.store(true, std::memory_order_release);  // R1
  if (c != nullptr) c->completed.push({this, nullptr});
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
