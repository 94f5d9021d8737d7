#include "lib/layers/mercury/argument_fetch.hpp"

#include <cstring>

#include "lib/layers/mercury/message_check.hpp"
#include "lib/layers/mercury/wire.hpp"

namespace mercury {

hg_return_t argument_fetch::open(na_class_t* na, const char* payload, size_t size) {
  elsewhere_header h;
  if (size < sizeof h) return HG_PROTOCOL_ERROR;
  std::memcpy(&h, payload, sizeof h);
  size_ = h.arguments;
  check_ = h.check;
  if (NA_Mem_handle_deserialize(na, &remote_, payload + sizeof h, size - sizeof h) == NA_SUCCESS) return HG_SUCCESS;
  remote_ = NA_MEM_HANDLE_NULL;
  return HG_PROTOCOL_ERROR;
}

hg_return_t argument_fetch::start(na_class_t* na, na_context_t* context, void* buffer, na_addr_t source,
                                  na_cb_t callback, void* arg) {
  buffer_ = buffer;
  if (NA_Mem_handle_create(na, buffer, size_, NA_MEM_READWRITE, &local_) != NA_SUCCESS) {
    local_ = NA_MEM_HANDLE_NULL;
    return HG_NA_ERROR;
  }
  operations_.fetch_add(1, std::memory_order_relaxed);
  if (NA_Get(na, context, callback, arg, local_, 0, remote_, 0, size_, source, NA_OP_ID_IGNORE) == NA_SUCCESS)
    return HG_SUCCESS;
  operations_.fetch_sub(1, std::memory_order_release);
  return HG_NA_ERROR;
}

hg_return_t argument_fetch::result(const na_cb_info* info) const {
  if (info->ret != NA_SUCCESS) return HG_NA_ERROR;
  return message_check(check_start, buffer_, size_) == check_ ? HG_SUCCESS : HG_CHECKSUM_ERROR;
}

}  // namespace mercury
