// The processing routines of integers, bytes and strings.
#include <mercury_proc_string.h>

#include <cstdlib>

#include "lib/layers/mercury/processor.hpp"

using namespace mercury;

namespace {

/// Encoded as length (including the final 0; 0 for NULL) and characters.
hg_return_t string(processor& p, char** s) {
  uint64_t length = 0;
  if (p.op() == HG_FREE) {
    if (!p.may_free()) return HG_FAIL;
    std::free(*s);
    *s = nullptr;
    return p.step();
  }
  if (p.op() == HG_ENCODE) {
    if (*s != nullptr) length = std::strlen(*s) + 1;
    const hg_return_t result = p.integer(&length);
    return result != HG_SUCCESS || length == 0 ? result : p.copy(*s, length);
  }
  *s = nullptr;
  uint64_t left = p.left();
  if (left < sizeof length) return HG_SIZE_ERROR;
  std::memcpy(&length, p.at(), sizeof length);
  left -= sizeof length;
  char* from = p.at() + sizeof length;
  if (length > left) return HG_SIZE_ERROR;  // a damaged length must not allocate much memory
  if (length > 0) {
    if (from[length - 1] != 0) return HG_PROTOCOL_ERROR;
    *s = static_cast<char*>(std::malloc(length));
    if (*s == nullptr) return HG_NOMEM_ERROR;
    std::memcpy(*s, from, length);
  }
  p.move_to(from + length);
  return p.step();
}

/// With n == 0, `data` may be NULL.
hg_return_t bytes(const char* function, hg_proc_t proc, void* data, size_t n) {
  if (!are_there(proc, n > 0 ? data : proc)) return null_argument(function, proc);
  return processor_of(proc).copy(data, n);
}

template <class T>
hg_return_t integer(const char* function, hg_proc_t proc, T* data) {
  if (!are_there(proc, data)) return null_argument(function, proc);
  return processor_of(proc).integer(data);
}

}  // namespace

hg_return_t hg_proc_memcpy(hg_proc_t proc, void* data, size_t data_size) {
  return bytes(__func__, proc, data, data_size);
}
hg_return_t hg_proc_raw(hg_proc_t proc, void* buf, size_t buf_size) { return bytes(__func__, proc, buf, buf_size); }

hg_return_t hg_proc_hg_int8_t(hg_proc_t proc, hg_int8_t* data) { return integer(__func__, proc, data); }
hg_return_t hg_proc_hg_uint8_t(hg_proc_t proc, hg_uint8_t* data) { return integer(__func__, proc, data); }
hg_return_t hg_proc_hg_int16_t(hg_proc_t proc, hg_int16_t* data) { return integer(__func__, proc, data); }
hg_return_t hg_proc_hg_uint16_t(hg_proc_t proc, hg_uint16_t* data) { return integer(__func__, proc, data); }
hg_return_t hg_proc_hg_int32_t(hg_proc_t proc, hg_int32_t* data) { return integer(__func__, proc, data); }
hg_return_t hg_proc_hg_uint32_t(hg_proc_t proc, hg_uint32_t* data) { return integer(__func__, proc, data); }
hg_return_t hg_proc_hg_int64_t(hg_proc_t proc, hg_int64_t* data) { return integer(__func__, proc, data); }
hg_return_t hg_proc_hg_uint64_t(hg_proc_t proc, hg_uint64_t* data) { return integer(__func__, proc, data); }

hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, hg_const_string_t* data) {
  if (!are_there(proc, data)) return null_argument(__func__, proc);
  return string(processor_of(proc), const_cast<char**>(data));
}

hg_return_t hg_proc_hg_string_t(hg_proc_t proc, hg_string_t* data) {
  if (!are_there(proc, data)) return null_argument(__func__, proc);
  return string(processor_of(proc), data);
}

hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, hg_string_object_t* s) {
  if (!are_there(proc, s)) return null_argument(__func__, proc);
  processor& p = processor_of(proc);
  if (p.op() == HG_ENCODE) return string(p, &s->data);
  if (p.op() == HG_DECODE) {
    *s = {nullptr, HG_FALSE, HG_TRUE};
    return string(p, &s->data);
  }
  if (!p.may_free()) return HG_FAIL;
  hg_string_object_free(s);
  return p.step();
}
