// The functions of calls that this process executes (mercury_handler.h).
#include <mercury_handler.h>

#include "lib/layers/mercury/processor.hpp"
#include "lib/layers/mercury/runtime.hpp"

using namespace mercury;

namespace {
constexpr const char* executed_call = "the handle of a call that is executed here";

/// The call behind a handle; prints a line and returns null if it is invalid or has been answered.
call* unanswered(const char* function, hg_handle_t handle) {
  call* c = get<call>(function, executed_call, handle);
  if (c != nullptr && c->is_answered()) {
    fail(HG_FAIL, function, "the call has been answered already");
    return nullptr;
  }
  return c;
}
}  // namespace

hg_return_t HG_Handler_process(unsigned int timeout, hg_status_t* status) {
  runtime* r = current(__func__);
  if (r == nullptr) return HG_FAIL;
  return guarded("HG_Handler_process", [&] {
    call* c = r->next_call(timeout);
    if (status != nullptr && status != HG_STATUS_IGNORE) *status = c != nullptr ? HG_TRUE : HG_FALSE;
    return c != nullptr ? c->called->execute(c) : HG_SUCCESS;
  });
}

na_addr_t HG_Handler_get_addr(hg_handle_t handle) {
  const call* c = get<call>(__func__, executed_call, handle);
  return c != nullptr ? c->source : NA_ADDR_NULL;
}

na_class_t* HG_Handler_get_na_class(hg_handle_t handle) {
  const call* c = get<call>(__func__, executed_call, handle);
  return c != nullptr ? c->owner.network->na() : nullptr;
}

hg_return_t HG_Handler_get_input_buf(hg_handle_t handle, void** in_buf, size_t* in_buf_size) {
  const call* c = get<call>(__func__, executed_call, handle);
  if (c == nullptr) return HG_FAIL;
  if (in_buf == nullptr || in_buf_size == nullptr)
    return fail(HG_FAIL, __func__, "%s is NULL, but must not be", in_buf == nullptr ? "in_buf" : "in_buf_size");
  *in_buf = const_cast<char*>(c->arguments_at);
  *in_buf_size = c->arguments;
  return HG_SUCCESS;
}

hg_return_t HG_Handler_get_output_buf(hg_handle_t handle, void** out_buf, size_t* out_buf_size) {
  call* c = get<call>(__func__, executed_call, handle);
  if (c == nullptr) return HG_FAIL;
  if (out_buf == nullptr || out_buf_size == nullptr)
    return fail(HG_FAIL, __func__, "%s is NULL, but must not be", out_buf == nullptr ? "out_buf" : "out_buf_size");
  *out_buf = c->output();
  *out_buf_size = c->output_size();
  return HG_SUCCESS;
}

hg_return_t HG_Handler_get_input(hg_handle_t handle, void* in_struct) {
  call* c = get<call>(__func__, executed_call, handle);
  return c != nullptr ? c->input(in_struct) : HG_FAIL;
}

hg_return_t HG_Handler_free_input(hg_handle_t handle, void* in_struct) {
  const call* c = get<call>(__func__, executed_call, handle);
  if (c == nullptr) return HG_FAIL;
  if (c->called->in_proc == nullptr || in_struct == nullptr) return HG_SUCCESS;
  processor p(nullptr, 0, HG_FREE);
  return c->called->in_proc(&p, in_struct);
}

hg_return_t HG_Handler_start_output(hg_handle_t handle, void* out_struct) {
  call* c = unanswered(__func__, handle);
  return c != nullptr ? c->answer(out_struct) : HG_FAIL;
}

hg_return_t HG_Handler_start_response(hg_handle_t handle, void* extra_out_buf, size_t extra_out_buf_size) {
  call* c = unanswered(__func__, handle);
  if (c == nullptr) return HG_FAIL;
  if (extra_out_buf != nullptr || extra_out_buf_size != 0) {
    c->answer_error(HG_SIZE_ERROR);
    return fail(HG_SIZE_ERROR, __func__, "a result must fit in the output buffer: transfer larger ones in bulk");
  }
  return c->answer_raw(c->output_size());
}

hg_return_t HG_Handler_free(hg_handle_t handle) {
  call* c = get<call>(__func__, executed_call, handle);
  if (c == nullptr) return HG_FAIL;
  if (!c->is_answered()) c->answer_error(HG_FAIL);
  c->unref();
  return HG_SUCCESS;
}
