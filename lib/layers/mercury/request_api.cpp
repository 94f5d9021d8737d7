// The functions of the request model (mercury.h).
#include <mercury.h>

#include "lib/layers/mercury/runtime.hpp"

using namespace mercury;

namespace {
constexpr const char* a_request = "a request";

bool is_wanted(const hg_status_t* status) { return status != nullptr && status != HG_STATUS_IGNORE; }
}  // namespace

hg_return_t HG_Forward(na_addr_t addr, hg_id_t id, void* in_struct, void* out_struct, hg_request_t* result) {
  runtime* r = current(__func__);
  if (r == nullptr) return HG_FAIL;
  if (addr == NA_ADDR_NULL) return fail(HG_FAIL, __func__, "addr is NA_ADDR_NULL: has the look-up succeeded?");
  if (result == nullptr) return fail(HG_FAIL, __func__, "request is NULL, but must not be");
  na_bool_t is_self = NA_FALSE;
  if (!NA_Direct_address(r->network->na(), addr, &is_self)) return fail(HG_FAIL, __func__, "%s", of_another_class);
  const function* called = r->functions.find(id);
  if (called == nullptr) return fail(HG_FAIL, __func__, "no function has the id %u: register it in this process", id);
  return guarded("HG_Forward", [&] {
    request* made = r->take_request();
    made->begin(addr, is_self != NA_FALSE, called);
    made->out = out_struct;
    hg_return_t code = made->encode(in_struct);
    if (code == HG_SUCCESS) code = made->send();
    if (code == HG_SUCCESS) {
      *result = made;
    } else {
      made->unref();
    }
    return code;
  });
}

hg_return_t HG_Wait(hg_request_t pointer, unsigned int timeout, hg_status_t* status) {
  runtime* r = current(__func__);
  request* waited = r != nullptr ? get<request>(__func__, a_request, pointer) : nullptr;
  if (waited == nullptr) return HG_FAIL;
  const bool is_done = r->wait(*waited, timeout);
  if (is_wanted(status)) *status = is_done ? HG_TRUE : HG_FALSE;
  return is_done ? waited->decode(waited->out) : HG_SUCCESS;
}

hg_return_t HG_Wait_all(int count, hg_request_t array_of_requests[], unsigned int timeout,
                        hg_status_t array_of_statuses[]) {
  runtime* r = current(__func__);
  if (r == nullptr) return HG_FAIL;
  if (count < 0 || (count > 0 && array_of_requests == nullptr))
    return fail(HG_FAIL, __func__, "count is %d, the array at %p", count, static_cast<void*>(array_of_requests));
  deadline limit(timeout);
  hg_return_t result = HG_SUCCESS;
  for (int i = 0; i < count; ++i) {
    hg_status_t* status = is_wanted(array_of_statuses) ? &array_of_statuses[i] : HG_STATUS_IGNORE;
    const hg_return_t one = HG_Wait(array_of_requests[i], limit.left(), status);
    if (result == HG_SUCCESS) result = one;
  }
  return result;
}

hg_return_t HG_Request_free(hg_request_t pointer) {
  request* freed = get<request>(__func__, a_request, pointer);
  if (freed == nullptr) return HG_FAIL;
  if (freed->is_done()) {
    freed->free_decoded();
  } else {
    freed->cancel();
  }
  freed->unref();
  return HG_SUCCESS;
}
