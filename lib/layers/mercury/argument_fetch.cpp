#include "lib/layers/mercury/argument_fetch.hpp"

#include <cstring>

#include "lib/layers/mercury/message_check.hpp"
#include "lib/layers/mercury/misuse.hpp"
#include "lib/layers/mercury/wire.hpp"

namespace mercury {

hg_return_t fetch_budget::take(na_addr_t source, uint64_t bytes) {
  if (bytes > most_) return HG_SIZE_ERROR;
  if (bytes == 0) return HG_SUCCESS;
  const std::lock_guard guard(lock_);
  try {
    uint64_t& used = used_[source];
    if (bytes > most_ - used) return HG_NOMEM_ERROR;
    used += bytes;
    return HG_SUCCESS;
  } catch (const std::bad_alloc&) {
    return HG_NOMEM_ERROR;
  }
}

void fetch_budget::give_back(na_addr_t source, uint64_t bytes) {
  const std::lock_guard guard(lock_);
  const auto used = used_.find(source);
  if (used != used_.end() && (used->second -= bytes) == 0) used_.erase(used);
}

hg_return_t argument_fetch::open(na_class_t* na, na_addr_t source, const char* payload, size_t size) {
  elsewhere_header h;
  if (size < sizeof h) return HG_PROTOCOL_ERROR;
  std::memcpy(&h, payload, sizeof h);
  size_ = h.arguments;
  check_ = h.check;
  const na_return_t read = NA_Mem_handle_deserialize(na, &remote_, payload + sizeof h, size - sizeof h);
  if (read != NA_SUCCESS) {
    remote_ = NA_MEM_HANDLE_NULL;
    return code_for(read, HG_PROTOCOL_ERROR);
  }
  source_ = source;
  const hg_return_t result = budget_.take(source, size_);
  if (result == HG_SUCCESS) return HG_SUCCESS;
  NA_Mem_handle_free(na, remote_);
  remote_ = NA_MEM_HANDLE_NULL;
  return result;
}

void argument_fetch::free_handles(na_class_t* na) {
  if (local_ != NA_MEM_HANDLE_NULL) NA_Mem_handle_free(na, local_);
  NA_Mem_handle_free(na, remote_);
  local_ = remote_ = NA_MEM_HANDLE_NULL;
  budget_.give_back(source_, size_);
}

hg_return_t argument_fetch::start(na_class_t* na, na_context_t* context, void* buffer, na_cb_t callback, void* arg) {
  buffer_ = buffer;
  const na_return_t made = NA_Mem_handle_create(na, buffer, size_, NA_MEM_READWRITE, &local_);
  if (made != NA_SUCCESS) {
    local_ = NA_MEM_HANDLE_NULL;
    return code_for(made, HG_NA_ERROR);
  }
  operations_.fetch_add(1, std::memory_order_relaxed);
  const na_return_t code = NA_Get(na, context, callback, arg, local_, 0, remote_, 0, size_, source_, NA_OP_ID_IGNORE);
  if (code == NA_SUCCESS) return HG_SUCCESS;
  operations_.fetch_sub(1, std::memory_order_release);
  return code_for(code, HG_NA_ERROR);
}

hg_return_t argument_fetch::result(const na_cb_info* info) const {
  if (info->ret != NA_SUCCESS) return code_for(info->ret, HG_NA_ERROR);
  return message_check(check_start, buffer_, size_) == check_ ? HG_SUCCESS : HG_CHECKSUM_ERROR;
}

}  // namespace mercury
