// The functions of the callback model (mercury_callback.h).
#include <mercury_callback.h>

#include "lib/layers/mercury/callback_context.hpp"
#include "lib/layers/mercury/processor.hpp"
#include "lib/layers/mercury/runtime.hpp"

using namespace mercury;

namespace {

constexpr const char* call_to_make = "the handle of a call to be made";

callback_context* context_of(const char* function, hg_context_t* context) {
  auto* c = static_cast<callback_context*>(context);
  if (c != nullptr && c->is_alive()) return c;
  fail(HG_FAIL, function, "%p is not a context: has HG_Context_create() succeeded?", static_cast<void*>(context));
  return nullptr;
}

bool has_work(const runtime& r, const callback_context& c) { return !c.completed.is_empty() || r.has_calls(); }

void run(const completion& done) {
  hg_cb_info info{};
  if (done.made != nullptr) {
    request& r = *done.made;
    info = {r.argument, r.result(), HG_CB_FORWARD, {}};
    info.info.forward.handle = &r;
    const hg_cb_t callback = r.callback;
    r.set_begun(false);
    if (callback != nullptr) callback(&info);
    r.unref();
  } else {
    call& c = *done.answered;
    info = {c.argument, done.result, HG_CB_RESPOND, {}};
    info.info.respond.handle = &c;
    if (c.callback != nullptr) c.callback(&info);
    c.leave();
    c.unref();
  }
}

}  // namespace

hg_context_t* HG_Context_create() {
  const runtime* r = current(__func__);
  if (r == nullptr) return nullptr;
  auto* made = new (std::nothrow) callback_context;
  if (made == nullptr) return nullptr;
  made->na_class = r->network->na();
  made->na_context = r->network->context();
  return made;
}

hg_return_t HG_Context_destroy(hg_context_t* context) {
  callback_context* c = context_of(__func__, context);
  if (c == nullptr) return HG_FAIL;
  if (callback_scope::is_inside(c))
    return fail(HG_FAIL, __func__,
                "a callback or routine that HG_Trigger() of the context runs has called it: destroy the context when "
                "HG_Trigger() has returned");
  const uint32_t handles = c->handles.load(std::memory_order_acquire);
  const uint32_t answers = c->answers.load(std::memory_order_acquire);
  if (handles != 0 || answers != 0 || !c->completed.is_empty())
    return fail(HG_FAIL, __func__,
                "%u handles of the context exist, and callbacks of %u answers have not run: destroy the handles, and "
                "trigger what has completed",
                handles, answers);
  delete c;
  return HG_SUCCESS;
}

hg_return_t HG_Create(hg_context_t* context, na_addr_t addr, hg_id_t id, hg_handle_t* handle) {
  runtime* r = current(__func__);
  callback_context* c = r != nullptr ? context_of(__func__, context) : nullptr;
  if (c == nullptr) return HG_FAIL;
  if (addr == NA_ADDR_NULL) return fail(HG_FAIL, __func__, "addr is NA_ADDR_NULL: has the look-up succeeded?");
  if (handle == nullptr) return fail(HG_FAIL, __func__, "handle is NULL, but must not be");
  const function* called = r->functions.find(id);
  if (called == nullptr) return fail(HG_NO_MATCH, __func__, "no function has the id %u: register it here", id);
  return guarded("HG_Create", [&] {
    na_bool_t is_self = NA_FALSE;
    if (!NA_Direct_address(r->network->na(), addr, &is_self)) return fail(HG_FAIL, "HG_Create", "%s", of_another_class);
    na_addr_t copy = NA_ADDR_NULL;  // the program may free its address before the handle
    if (NA_Addr_dup(r->network->na(), addr, &copy) != NA_SUCCESS) return HG_NA_ERROR;
    request* made = r->take_request();
    made->begin(copy, is_self != NA_FALSE, called);
    made->context = c;
    c->handles.fetch_add(1, std::memory_order_relaxed);
    *handle = made;
    return HG_SUCCESS;
  });
}

hg_return_t HG_Destroy(hg_handle_t handle) {
  request* r = get<request>(__func__, call_to_make, handle);
  if (r == nullptr) return HG_FAIL;
  r->callback = nullptr;
  if (r->is_begun() && !r->is_done()) r->cancel();
  r->unref();
  return HG_SUCCESS;
}

hg_return_t HG_Forward_handle(hg_handle_t handle, hg_cb_t callback, void* arg, void* in_struct) {
  request* r = get<request>(__func__, call_to_make, handle);
  if (r == nullptr) return HG_FAIL;
  if (r->is_begun()) return fail(HG_FAIL, __func__, "the handle's call has not completed");
  return guarded("HG_Forward", [&] {
    r->end();  // the handle's previous call
    r->callback = callback;
    r->argument = arg;
    hg_return_t result = r->encode(in_struct);
    if (result == HG_SUCCESS) result = r->send();
    if (result != HG_SUCCESS) r->end();
    return result;
  });
}

hg_return_t HG_Cancel(hg_handle_t handle) {
  request* r = get<request>(__func__, call_to_make, handle);
  if (r == nullptr) return HG_FAIL;
  if (r->is_begun()) r->cancel();
  return HG_SUCCESS;
}

hg_return_t HG_Get_output(hg_handle_t handle, void* out_struct) {
  request* r = get<request>(__func__, call_to_make, handle);
  if (r == nullptr) return HG_FAIL;
  if (!r->is_done()) return fail(HG_FAIL, __func__, "the call has not completed");
  return r->result() == HG_SUCCESS ? r->decode_again(out_struct) : r->result();
}

hg_return_t HG_Free_output(hg_handle_t handle, void* out_struct) {
  const request* r = get<request>(__func__, call_to_make, handle);
  if (r == nullptr) return HG_FAIL;
  if (r->called->out_proc == nullptr || out_struct == nullptr) return HG_SUCCESS;
  processor p(nullptr, 0, HG_FREE);
  return r->called->out_proc(&p, out_struct);
}

hg_return_t HG_Respond(hg_handle_t handle, hg_context_t* context, hg_cb_t callback, void* arg, void* out_struct) {
  call* c = get<call>(__func__, "the handle of a call that is executed here", handle);
  if (c == nullptr) return HG_FAIL;
  if (c->is_answered()) return fail(HG_FAIL, __func__, "the call has been answered already");
  if (callback != nullptr) {
    callback_context* const queue = context_of(__func__, context);
    if (queue == nullptr) return HG_FAIL;
    c->enter(queue);
    c->callback = callback;
    c->argument = arg;
  }
  const hg_return_t result = c->answer(out_struct);
  if (result != HG_SUCCESS) c->leave();
  return result;
}

hg_return_t HG_Progress(hg_context_t* context, unsigned int timeout) {
  runtime* r = current(__func__);
  const callback_context* c = r != nullptr ? context_of(__func__, context) : nullptr;
  if (c == nullptr) return HG_FAIL;
  return guarded("HG_Progress",
                 [&] { return r->network->wait(timeout, [&] { return has_work(*r, *c); }) ? HG_SUCCESS : HG_TIMEOUT; });
}

hg_return_t HG_Trigger(hg_context_t* context, unsigned int timeout, unsigned int max_count,
                       unsigned int* actual_count) {
  if (actual_count != nullptr) *actual_count = 0;
  runtime* r = current(__func__);
  callback_context* c = r != nullptr ? context_of(__func__, context) : nullptr;
  if (c == nullptr) return HG_FAIL;
  return guarded("HG_Trigger", [&] {
    const callback_scope inside(c);
    const execution_scope executes(r);
    unsigned n = 0;
    for (; n < max_count; ++n) {
      completion done;
      if (c->completed.pop(done)) {
        run(done);
      } else if (call* arrived =
                     r->has_calls() || (n == 0 && timeout > 0) ? r->next_call(n == 0 ? timeout : 0, c) : nullptr) {
        arrived->called->execute(arrived);
      } else if (!c->completed.pop(done)) {
        break;
      } else {
        run(done);
      }
    }
    if (actual_count != nullptr) *actual_count = n;
    return n > 0 ? HG_SUCCESS : HG_TIMEOUT;
  });
}
