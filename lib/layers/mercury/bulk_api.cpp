// The functions of bulk handles, and their serialized form.
#include <mercury_bulk.h>

#include <algorithm>
#include <cstring>

#include "lib/layers/mercury/bulk.hpp"
#include "lib/layers/mercury/processor.hpp"
#include "lib/layers/mercury/state.hpp"

using namespace mercury;

namespace {

constexpr const char* a_bulk_handle = "a bulk handle";
bulk* get_bulk(const char* function, hg_bulk_t handle) { return get<bulk>(function, a_bulk_handle, handle); }

hg_return_t misuse(const char* function, const char* text) { return fail(HG_INVALID_PARAM, function, "%s", text); }

hg_return_t decode_bulk(processor& p, hg_bulk_t* handle) {
  *handle = HG_BULK_NULL;
  uint64_t size = 0;
  if (p.left() < sizeof size) return HG_SIZE_ERROR;
  std::memcpy(&size, p.at(), sizeof size);
  char* const from = p.at() + sizeof size;
  if (size > p.left() - sizeof size) return HG_SIZE_ERROR;
  if (size > 0)
    if (const hg_return_t result = HG_Bulk_handle_deserialize(handle, from, size); result != HG_SUCCESS) return result;
  p.move_to(from + size);
  return p.step();
}

hg_return_t encode_bulk(processor& p, hg_bulk_t handle) {
  if (handle != HG_BULK_NULL) {
    bulk* const b = get_bulk("hg_proc_hg_bulk_t", handle);
    if (b == nullptr) return HG_INVALID_PARAM;
    if (const hg_return_t result = b->expose(); result != HG_SUCCESS) return result;
  }
  uint64_t size = HG_Bulk_handle_get_serialize_size(handle);
  if (const hg_return_t result = p.copy(&size, sizeof size); result != HG_SUCCESS || size == 0) return result;
  if (const hg_return_t result = p.reserve(size); result != HG_SUCCESS) return result;
  const hg_return_t result = HG_Bulk_handle_serialize(p.at(), size, handle);
  if (result == HG_SUCCESS) p.move_to(p.at() + size);
  return result;
}

/// Returns whether the bytes are those of this handle.
hg_return_t compare(bulk& own, const void* bytes, size_t size) {
  if (const hg_return_t exposed = own.expose(); exposed == HG_NOMEM_ERROR) return exposed;
  std::vector<char> expected(HG_Bulk_handle_get_serialize_size(&own));
  if (size < expected.size()) return HG_SIZE_ERROR;
  const hg_return_t result = HG_Bulk_handle_serialize(expected.data(), expected.size(), &own);
  if (result != HG_SUCCESS) return HG_PROTOCOL_ERROR;  // the network can't register it, so it never was serialized
  return std::memcmp(bytes, expected.data(), expected.size()) == 0 ? HG_SUCCESS : HG_PROTOCOL_ERROR;
}

/// Finds the handle of this process whose serialized form the bytes are.
hg_return_t find_own(bulk_runtime& r, const bulk_message& m, const void* bytes, size_t size, hg_bulk_t* handle) {
  if (m.is_range) return HG_PROTOCOL_ERROR;
  const auto unref = [](bulk* b) { b->unref(); };
  std::unique_ptr<bulk, decltype(unref)> own(r.find(m.head.id), unref);
  if (own == nullptr) return HG_PROTOCOL_ERROR;  // it has been freed, and so may have been its memory
  const hg_return_t result = compare(*own, bytes, size);
  if (result == HG_SUCCESS) *handle = own.release();
  return result;
}

/// Creates a handle of another process's memory.
hg_return_t make_remote(bulk_runtime& r, const bulk_message& m, hg_bulk_t* handle) {
  na_mem_handle_t memory = NA_MEM_HANDLE_NULL;
  na_class_t* const na = r.network->na();
  const na_return_t result = NA_Mem_handle_deserialize(na, &memory, m.memory, m.memory_size);
  if (result != NA_SUCCESS) return result == NA_SIZE_ERROR ? HG_SIZE_ERROR : code_for(result, HG_PROTOCOL_ERROR);
  const bool fits = describes(memory, m);
  if (bulk* const made = fits ? new (std::nothrow) bulk(r, memory, m.head, m.base) : nullptr) {
    *handle = made;
    return HG_SUCCESS;
  }
  NA_Mem_handle_free(na, memory);
  return fits ? HG_NOMEM_ERROR : HG_PROTOCOL_ERROR;
}

}  // namespace

hg_return_t HG_Bulk_handle_create(size_t count, void** buf_ptrs, const size_t* buf_sizes, unsigned long flags,
                                  hg_bulk_t* handle) {
  bulk_runtime* r = current_bulk(__func__);
  if (r == nullptr) return HG_FAIL;
  if (count == 0) return misuse(__func__, "count is 0, but must be 1 or more");
  if (buf_sizes == nullptr) return misuse(__func__, "buf_sizes is NULL, but must not be");
  if (handle == nullptr) return misuse(__func__, "handle is NULL, but must not be");
  if (flags != HG_BULK_READWRITE && flags != HG_BULK_READ_ONLY)
    return fail(HG_INVALID_PARAM, __func__,
                "flags is %lu, but must be HG_BULK_READWRITE, HG_BULK_READ_ONLY or HG_BULK_WRITE_ONLY", flags);
  uint64_t size = 0;
  for (size_t i = 0; i < count; ++i) {
    if (buf_sizes[i] == 0) return fail(HG_INVALID_PARAM, __func__, "buf_sizes[%zu] is 0, but must be 1 or more", i);
    if (buf_ptrs != nullptr && buf_ptrs[i] == nullptr)
      return fail(HG_INVALID_PARAM, __func__, "buf_ptrs[%zu] is NULL: make buf_ptrs NULL for memory of the handle", i);
    if (__builtin_add_overflow(size, buf_sizes[i], &size))
      return misuse(__func__, "all segments together have more than 2^64 bytes");
  }
  return guarded("HG_Bulk_handle_create", [&] {
    std::unique_ptr<char[]> owned;
    if (buf_ptrs == nullptr) owned = std::make_unique<char[]>(size);
    std::vector<na_segment> segments(count);
    char* next = owned.get();
    for (size_t i = 0; i < count; ++i) {
      segments[i] = {reinterpret_cast<na_ptr_t>(owned ? next : buf_ptrs[i]), buf_sizes[i]};
      if (owned) next += buf_sizes[i];
    }
    *handle = new bulk(*r, std::move(segments), flags, std::move(owned));
    return HG_SUCCESS;
  });
}

hg_return_t HG_Bulk_handle_free(hg_bulk_t handle) {
  if (handle == HG_BULK_NULL) return HG_SUCCESS;
  bulk* b = get_bulk(__func__, handle);
  if (b == nullptr) return HG_INVALID_PARAM;
  b->unref();
  end_bulk_if_due();
  return HG_SUCCESS;
}

hg_return_t HG_Bulk_handle_access(hg_bulk_t handle, size_t offset, size_t size, unsigned long flags,
                                  unsigned int max_count, void** buf_ptrs, size_t* buf_sizes,
                                  unsigned int* actual_count) {
  const bulk* b = get_bulk(__func__, handle);
  if (b == nullptr) return HG_INVALID_PARAM;
  if (!b->is_local()) return misuse(__func__, "the memory is another process's: transfer it");
  if (flags != HG_BULK_READWRITE && flags != HG_BULK_READ_ONLY) return misuse(__func__, "there are no such flags");
  unsigned n = 0;
  if (max_count > 0)
    for_pieces(b->segments(), offset, size, [&](char* address, uint64_t bytes) {
      if (buf_ptrs != nullptr) buf_ptrs[n] = address;
      if (buf_sizes != nullptr) buf_sizes[n] = bytes;
      return ++n < max_count;
    });
  if (actual_count != nullptr) *actual_count = n;
  return HG_SUCCESS;
}

size_t HG_Bulk_handle_get_size(hg_bulk_t handle) {
  const bulk* b = handle != HG_BULK_NULL ? get_bulk(__func__, handle) : nullptr;
  return b != nullptr ? b->size() : 0;
}

size_t HG_Bulk_handle_get_segment_count(hg_bulk_t handle) {
  const bulk* b = handle != HG_BULK_NULL ? get_bulk(__func__, handle) : nullptr;
  return b != nullptr ? b->segment_count() : 0;
}

size_t HG_Bulk_handle_get_serialize_size(hg_bulk_t handle) {
  bulk* b = handle != HG_BULK_NULL ? get_bulk(__func__, handle) : nullptr;
  if (b == nullptr || b->expose() != HG_SUCCESS) return 0;
  const size_t base = b->is_range() ? sizeof(uint64_t) : 0;
  return sizeof(bulk_header) + base + NA_Mem_handle_get_serialize_size(b->owner.network->na(), b->memory());
}

hg_return_t HG_Bulk_handle_serialize(void* buf, size_t buf_size, hg_bulk_t handle) {
  bulk* b = get_bulk(__func__, handle);
  if (b == nullptr) return HG_INVALID_PARAM;
  if (buf == nullptr) return misuse(__func__, "buf is NULL, but must not be");
  if (const hg_return_t exposed = b->expose(); exposed != HG_SUCCESS)
    return fail(exposed, __func__, "the network can't register the memory");
  const size_t needed = HG_Bulk_handle_get_serialize_size(handle);
  if (buf_size < needed) return HG_SIZE_ERROR;
  const bulk_header h = b->header();
  std::memcpy(buf, &h, sizeof h);
  size_t begin = sizeof h;
  if (const uint64_t base = b->base(); b->is_range()) {
    std::memcpy(static_cast<char*>(buf) + begin, &base, sizeof base);
    begin += sizeof base;
  }
  return NA_Mem_handle_serialize(b->owner.network->na(), static_cast<char*>(buf) + begin, needed - begin,
                                 b->memory()) == NA_SUCCESS
             ? HG_SUCCESS
             : HG_NA_ERROR;
}

hg_return_t HG_Bulk_handle_deserialize(hg_bulk_t* handle, const void* buf, size_t buf_size) {
  bulk_runtime* r = current_bulk(__func__);
  if (r == nullptr) return HG_FAIL;
  if (handle == nullptr || buf == nullptr)
    return misuse(__func__, handle == nullptr ? "handle is NULL, but must not be" : "buf is NULL, but must not be");
  bulk_message m;
  if (const hg_return_t result = read_bulk(buf, buf_size, m); result != HG_SUCCESS) return result;
  return guarded("HG_Bulk_handle_deserialize", [&] {
    return m.head.process == r->process ? find_own(*r, m, buf, buf_size, handle) : make_remote(*r, m, handle);
  });
}

hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, hg_bulk_t* handle) {
  if (!are_there(proc, handle)) return null_argument(__func__, proc);
  processor& p = processor_of(proc);
  if (p.op() == HG_ENCODE) return encode_bulk(p, *handle);
  if (p.op() == HG_DECODE) return decode_bulk(p, handle);
  if (!p.may_free()) return HG_FAIL;
  const hg_return_t result = HG_Bulk_handle_free(*handle);
  *handle = HG_BULK_NULL;
  return result == HG_SUCCESS ? p.step() : result;
}
