#include "lib/layers/rpc/incoming.hpp"

#include <new>

#include "lib/layers/mercury/refusal.hpp"
#include "lib/layers/rpc/core.hpp"
#include "lib/layers/rpc/exceptions.hpp"
#include "lib/layers/rpc/parts.hpp"

namespace lci::rpc::detail {

using mercury::request_header;
using mercury::response_header;

incoming::incoming(engine_core& e)
    : owner(e),
      output_room_(e.largest_response - sizeof(response_header)),
      fetch_(e.operations, *e.fetched),
      input_(new char[e.largest_request]),
      output_(new char[e.largest_response]) {
  if (NA_Direct_reserve(e.na()) != NA_SUCCESS) throw std::bad_alloc();  // so that an answer is never lost
}

void incoming::arrive(na_addr_t from, na_tag_t tag, const void* data, size_t size) {
  refs_.store(1, std::memory_order_relaxed);
  source = from;
  tag_ = tag;
  size_ = size;
  if (size <= owner.largest_request) std::memcpy(input_.get(), data, size);
}

bool incoming::accept() {
  hg_return_t result = HG_NOMEM_ERROR;
  try {
    result = size_ <= owner.largest_request ? read() : HG_PROTOCOL_ERROR;
  } catch (const std::bad_alloc&) {  // for the text of a refusal
  }
  if (LCI_LIKELY(result == HG_SUCCESS)) return true;
  if (result == HG_TIMEOUT) return false;
  if (!is_answered_) answer_code(result);
  unref();
  return false;
}

bool incoming::has_other_signature(const request_header& h) {
  return h.signature != 0 && h.signature != called->signature->hash;
}

hg_return_t incoming::read() {
  request_header h;
  if (const hg_return_t result = mercury::open(input_.get(), size_, h); result != HG_SUCCESS) return result;
  cookie_ = h.cookie;
  takes_parts_ = (h.flags & mercury::takes_parts) != 0;
  is_typed_ = h.signature != 0;
  called = owner.find(h.id);
  if (LCI_UNLIKELY(called == nullptr || called->name_hash != h.name_hash)) return HG_NO_MATCH;
  if (LCI_UNLIKELY(has_other_signature(h))) {
    explain(HG_PROTOCOL_ERROR, "the types of arguments or result differ");
    return HG_PROTOCOL_ERROR;
  }
  if (LCI_UNLIKELY((h.flags & mercury::arguments_are_elsewhere) != 0)) return fetch(h);
  arguments = h.payload;
  arguments_at = input_.get() + sizeof h;
  return HG_SUCCESS;
}

hg_return_t incoming::fetch(const request_header& h) {
  na_class_t* const na = owner.na();
  if (const hg_return_t result = fetch_.open(na, source, input_.get() + sizeof h, h.payload); result != HG_SUCCESS)
    return result;
  arguments = fetch_.arguments();
  if (arguments <= owner.largest) fetched_.reset(new (std::nothrow) char[arguments]);
  if (fetched_ == nullptr) {
    fetch_.free(na);
    return arguments > owner.largest ? HG_SIZE_ERROR : HG_NOMEM_ERROR;
  }
  if (source == owner.self()) {
    outgoing* const caller = owner.call_of(tag_);
    if (caller == nullptr || !caller->copy_arguments(cookie_, fetched_.get(), arguments)) return HG_NA_ERROR;
    arguments_at = fetched_.get();
    return HG_SUCCESS;
  }
  const hg_return_t result = fetch_.start(na, owner.context(), fetched_.get(), on_arguments, this);
  return result == HG_SUCCESS ? HG_TIMEOUT : result;
}

na_return_t incoming::on_arguments(const na_cb_info* info) {
  auto* in = static_cast<incoming*>(info->arg);
  engine_core& e = in->owner;
  if (const hg_return_t result = in->fetch_.result(info); result == HG_SUCCESS) {
    in->arguments_at = in->fetched_.get();
    e.arrived(in);
  } else {
    in->answer_code(result);
    in->unref();
  }
  e.operations.fetch_sub(1, std::memory_order_release);
  return NA_SUCCESS;
}

void incoming::answer(writer& result) {
  if (LCI_LIKELY(!result.has_moved())) return send(HG_SUCCESS, 0, result.used());
  if (takes_parts_) {
    const size_t size = result.used();
    if (!send_in_parts(owner, source, tag_, cookie_, result.release_extra(), size)) return answer_code(HG_NOMEM_ERROR);
    is_answered_ = true;
  } else {
    answer_code(HG_SIZE_ERROR);
  }
}

void incoming::answer_exception(const std::exception_ptr& thrown) {
  const span_of_chars to = room();
  writer w(to.data, to.size, false, {});
  write_exception(w, thrown, to.size);
  send(HG_FAIL, mercury::explains, w.used());
}

void incoming::refuse(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const message_error& e) {
    explain(HG_PROTOCOL_ERROR, e.what());
  } catch (...) {
    answer_exception(why);  // thrown by the program's decoder
  }
}

void incoming::explain(hg_return_t code, const std::string& text) {
  const span_of_chars to = room();
  writer w(to.data, to.size, false, {});
  write_refusal(w, called->signature->text, text, to.size);
  send(code, mercury::explains, w.used());
}

void incoming::answer_code(hg_return_t code) { send(code, 0, 0); }

void incoming::send(hg_return_t code, uint8_t flags, size_t payload) {
  is_answered_ = true;
  response_header h;
  h.flags = flags;
  h.result = code;
  h.payload = static_cast<uint16_t>(payload);
  h.cookie = cookie_;
  const size_t size = mercury::seal_response(h, output_.get());
  const na_tag_t tag = tag_ | na::answer_bit;
  if (LCI_LIKELY(NA_Direct_try(owner.na(), output_.get(), size, source, tag) != NA_TIMEOUT)) return;
  ref();  // for the send
  owner.operations.fetch_add(1, std::memory_order_relaxed);
  if (NA_Direct_queue(owner.na(), owner.context(), on_sent, this, output_.get(), size, source, tag, NA_OP_ID_IGNORE) ==
      NA_SUCCESS)
    return;
  // The caller has failed or disconnected, so the answer is dropped: there is memory for it.
  owner.operations.fetch_sub(1, std::memory_order_release);
  unref();
}

na_return_t incoming::on_sent(const na_cb_info* info) {
  auto* in = static_cast<incoming*>(info->arg);
  engine_core& e = in->owner;
  in->unref();
  e.operations.fetch_sub(1, std::memory_order_release);
  return NA_SUCCESS;
}

void incoming::detach() { fetch_.free(owner.na()); }

void incoming::end_fetch() {
  const answer_scope use(owner);
  fetched_.reset();
  if (use.is_open()) fetch_.free(owner.na());  // else close() does, possibly now in another thread
}

void incoming::unref() {
  // The holder of the only reference needs no read-modify-write.
  if (refs_.load(std::memory_order_acquire) != 1 && refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (LCI_UNLIKELY(fetched_ != nullptr)) end_fetch();
  source = NA_ADDR_NULL;  // the network's addresses need not be freed
  called = nullptr;
  cookie_ = 0;
  is_answered_ = false;
  is_left_ = false;
  owner.arrivals.put(this);
}

void engine_core::on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) {
  lane_->note_event();
  if ((tag & na::answer_bit) != 0) {
    if (outgoing* const c = call_of(tag)) c->on_response(source, data, size);
    return;
  }
  try {
    incoming* const in = arrivals.take([this](size_t) { return std::make_unique<incoming>(*this); });
    in->arrive(source, tag, data, size);
    unread_.push(in);
  } catch (const std::bad_alloc&) {
    mercury::refuse_without_memory(na_, source, tag);
  }
}

void engine_core::read_calls() {
  bool any = false;
  while (incoming* const in = unread_.pop()) {
    any = true;
    if (in->accept()) arrived(in);
  }
  if (any) wake();  // threads of the pool may have found the queue empty before
}

}  // namespace lci::rpc::detail
