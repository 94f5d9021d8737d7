// The functions of transfers between two bulk handles.
#include <mercury_bulk.h>

#include <algorithm>
#include <cstring>

#include "lib/layers/mercury/bulk.hpp"
#include "lib/layers/mercury/state.hpp"

using namespace mercury;

namespace {

na_return_t on_transferred(const na_cb_info* info) {
  auto* t = static_cast<transfer*>(info->arg);
  t->result.store(info->ret == NA_SUCCESS      ? HG_SUCCESS
                  : info->ret == NA_SIZE_ERROR ? HG_SIZE_ERROR
                                               : code_for(info->ret, HG_NA_ERROR),
                  std::memory_order_relaxed);
  t->release();
  t->done.store(true, std::memory_order_release);  // R1: pairs with A1 in HG_Bulk_wait()
  return NA_SUCCESS;
}

bool is_within(const bulk& b, uint64_t offset, uint64_t size) {
  return offset <= b.size() && size <= b.size() - offset;
}

}  // namespace

hg_return_t HG_Bulk_transfer(hg_bulk_op_t op, na_addr_t origin_addr, hg_bulk_t origin_handle, size_t origin_offset,
                             hg_bulk_t local_handle, size_t local_offset, size_t size, hg_bulk_request_t* request) {
  bulk_runtime* r = current_bulk(__func__);
  if (r == nullptr) return HG_FAIL;
  if (op != HG_BULK_PUSH && op != HG_BULK_PULL)
    return fail(HG_INVALID_PARAM, __func__, "op is %d, but must be HG_BULK_PUSH or HG_BULK_PULL", static_cast<int>(op));
  if (origin_addr == NA_ADDR_NULL || request == nullptr)
    return fail(HG_INVALID_PARAM, __func__, "%s is NULL, but must not be",
                request == nullptr ? "request" : "origin_addr");
  bulk* origin = get<bulk>(__func__, "the origin's bulk handle", origin_handle);
  bulk* local = get<bulk>(__func__, "a local bulk handle", local_handle);
  if (origin == nullptr || local == nullptr) return HG_INVALID_PARAM;
  if (!local->is_local())
    return fail(HG_INVALID_PARAM, __func__, "local_handle is memory of another process: make one of this process's");
  for (const auto& [b, offset, name] : {std::tuple(origin, origin_offset, "origin"), {local, local_offset, "local"}})
    if (!is_within(*b, offset, size))
      return fail(HG_SIZE_ERROR, __func__, "%zu bytes at offset %zu leave the %s memory of %llu bytes", size, offset,
                  name, static_cast<unsigned long long>(b->size()));
  if (op == HG_BULK_PUSH && origin->flags() == HG_BULK_READ_ONLY)
    return fail(HG_INVALID_PARAM, __func__, "the origin's memory is HG_BULK_READ_ONLY");
  return guarded("HG_Bulk_transfer", [&] {
    transfer* t = r->transfers.take([](size_t) { return std::make_unique<transfer>(); });
    t->begin();
    na_return_t posted = NA_SUCCESS;
    if (size == 0 || origin->is_local()) {
      op == HG_BULK_PULL ? copy_pieces(local->segments(), local_offset, origin->segments(), origin_offset, size)
                         : copy_pieces(origin->segments(), origin_offset, local->segments(), local_offset, size);
      t->done.store(true, std::memory_order_release);
    } else {
      const auto start = op == HG_BULK_PULL ? NA_Get : NA_Put;
      t->keep(origin, local);
      posted = start(r->network->na(), r->network->context(), on_transferred, t, local->memory(), local_offset,
                     origin->memory(), origin->base() + origin_offset, size, origin_addr, NA_OP_ID_IGNORE);
      if (posted != NA_SUCCESS) t->release();
    }
    if (posted == NA_SUCCESS) {
      *request = t;
      return HG_SUCCESS;
    }
    t->end();
    r->transfers.put(t);
    // Of the arguments that were not checked here, only an address of another class is misuse.
    if (posted == NA_INVALID_PARAM) return HG_INVALID_PARAM;
    return posted == NA_SIZE_ERROR ? HG_SIZE_ERROR : code_for(posted, HG_NA_ERROR);
  });
}

hg_return_t HG_Bulk_wait(hg_bulk_request_t request, unsigned int timeout, hg_status_t* status) {
  bulk_runtime* r = current_bulk(__func__);
  if (r == nullptr) return HG_FAIL;
  transfer* t = get<transfer>(__func__, "a transfer", request);
  if (t == nullptr) return HG_INVALID_PARAM;
  bool is_done = false;
  const hg_return_t code = guarded("HG_Bulk_wait", [&] {
    is_done = r->network->wait(timeout, [t] { return t->done.load(std::memory_order_acquire); });  // A1: pairs with R1
    if (status != nullptr && status != HG_STATUS_IGNORE) *status = is_done ? HG_TRUE : HG_FALSE;
    if (!is_done) return HG_SUCCESS;
    const hg_return_t result = t->result.load(std::memory_order_relaxed);
    t->end();
    r->transfers.put(t);
    return result;
  });
  if (is_done) end_bulk_if_due();
  return code;
}
