// The functions of memory handles.
#include <stdexcept>

#include "lib/layers/na/arguments.hpp"
#include "lib/layers/na/direct.hpp"
#include "lib/layers/na/memory.hpp"
#include "lib/layers/na/memory_check.hpp"

using na::check;
using na::check_memory;
using na::check_not_null;
using na::memory;

namespace {

na_return_t create(const char* function, na_class_t* c, const na_segment* segments, size_t n, unsigned long flags,
                   na_mem_handle_t* mem_handle) {
  if (const na_return_t bad = check(function, c)) return bad;
  if (const na_return_t bad = check_not_null(function, "mem_handle", mem_handle)) return bad;
  if (flags != NA_MEM_READWRITE && flags != NA_MEM_READ_ONLY)
    return na::refuse(NA_INVALID_PARAM, function, "flags is %lu, it must be NA_MEM_READWRITE or NA_MEM_READ_ONLY",
                      flags);
  return na::guarded(function, [&] {
    *mem_handle = new memory(segments, n, flags == NA_MEM_READ_ONLY);
    return NA_SUCCESS;
  });
}

}  // namespace

na_return_t NA_Mem_handle_create(na_class_t* na_class, void* buf, na_size_t buf_size, unsigned long flags,
                                 na_mem_handle_t* mem_handle) {
  constexpr const char* function = "NA_Mem_handle_create";
  if (buf == nullptr && buf_size != 0) return na::refuse(NA_INVALID_PARAM, function, "buf is NULL");
  const na_segment all{reinterpret_cast<na_ptr_t>(buf), buf_size};
  return create(function, na_class, &all, 1, flags, mem_handle);
}

na_return_t NA_Mem_handle_create_segments(na_class_t* na_class, struct na_segment* segments, na_size_t segment_count,
                                          unsigned long flags, na_mem_handle_t* mem_handle) {
  constexpr const char* function = "NA_Mem_handle_create_segments";
  if (segments == nullptr || segment_count == 0)
    return na::refuse(NA_INVALID_PARAM, function, segments == nullptr ? "segments is NULL" : "segment_count is 0");
  return create(function, na_class, segments, segment_count, flags, mem_handle);
}

na_return_t NA_Mem_handle_free(na_class_t* na_class, na_mem_handle_t mem_handle) {
  constexpr const char* function = "NA_Mem_handle_free";
  if (const na_return_t bad = check(function, na_class)) return bad;
  memory* m = nullptr;
  if (const na_return_t bad = check_memory(function, "mem_handle", mem_handle, &m)) return bad;
  return na::guarded(function, [&] {
    m->deregister();
    delete m;
    return NA_SUCCESS;
  });
}

na_return_t NA_Mem_register(na_class_t* na_class, na_mem_handle_t mem_handle) {
  constexpr const char* function = "NA_Mem_register";
  if (const na_return_t bad = check(function, na_class)) return bad;
  memory* m = nullptr;
  if (const na_return_t bad = check_memory(function, "mem_handle", mem_handle, &m)) return bad;
  if (m->remote())
    return na::refuse(NA_INVALID_PARAM, function,
                      "mem_handle is of another process's memory, which registers it there");
  return na::guarded(function, [&] {
    return m->register_with(na_class->runtime, na_class->device, na::mark_of(na_class->who)), NA_SUCCESS;
  });
}

na_return_t NA_Mem_deregister(na_class_t* na_class, na_mem_handle_t mem_handle) {
  constexpr const char* function = "NA_Mem_deregister";
  if (const na_return_t bad = check(function, na_class)) return bad;
  memory* m = nullptr;
  if (const na_return_t bad = check_memory(function, "mem_handle", mem_handle, &m)) return bad;
  return na::guarded(function, [&] { return m->deregister(), NA_SUCCESS; });
}

na_size_t NA_Mem_handle_get_serialize_size(na_class_t* na_class, na_mem_handle_t mem_handle) {
  constexpr const char* function = "NA_Mem_handle_get_serialize_size";
  memory* m = nullptr;
  if (check(function, na_class) || check_memory(function, "mem_handle", mem_handle, &m)) return 0;
  return m->serialized_size();
}

na_return_t NA_Mem_handle_serialize(na_class_t* na_class, void* buf, na_size_t buf_size, na_mem_handle_t mem_handle) {
  constexpr const char* function = "NA_Mem_handle_serialize";
  if (const na_return_t bad = check(function, na_class)) return bad;
  if (const na_return_t bad = check_not_null(function, "buf", buf)) return bad;
  memory* m = nullptr;
  if (const na_return_t bad = check_memory(function, "mem_handle", mem_handle, &m)) return bad;
  if (buf_size < m->serialized_size())
    return na::refuse(NA_SIZE_ERROR, function, "buf_size is %llu, the handle needs %zu bytes",
                      static_cast<unsigned long long>(buf_size), m->serialized_size());
  if (!m->remote() && !m->registered())
    return na::refuse(NA_PERMISSION_ERROR, function, "the memory is not registered: call NA_Mem_register() first");
  return na::guarded(function, [&] { return m->serialize(buf), NA_SUCCESS; });
}

na_return_t NA_Mem_handle_deserialize(na_class_t* na_class, na_mem_handle_t* mem_handle, const void* buf,
                                      na_size_t buf_size) {
  constexpr const char* function = "NA_Mem_handle_deserialize";
  if (const na_return_t bad = check(function, na_class)) return bad;
  if (const na_return_t bad = check_not_null(function, "mem_handle", mem_handle)) return bad;
  if (const na_return_t bad = check_not_null(function, "buf", buf)) return bad;
  return na::guarded(function, [&] {
    try {
      *mem_handle = new memory(buf, buf_size);
      return NA_SUCCESS;
    } catch (const std::length_error&) {  // prints nothing, since the bytes come from another process
      return NA_SIZE_ERROR;
    } catch (const std::domain_error&) {
      return NA_PROTOCOL_ERROR;
    }
  });
}

void NA_Direct_memory(na_mem_handle_t mem_handle, na_size_t* size, unsigned long* flags) {
  const auto* const m = static_cast<const memory*>(mem_handle);
  *size = m->size();
  *flags = m->read_only() ? NA_MEM_READ_ONLY : NA_MEM_READWRITE;
}
