// Allocation, local copies, packing.
#include <cstdio>
#include <string>

#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"
#include "lib/layers/armci/local_memory.hpp"

using namespace armci_layer;

namespace {

int allocate(const char* function, void** ptr, armci_size_t bytes, const ARMCI_Group* g) {
  return or_code(function, [&] {
    context& c = running();
    const group& members = g == nullptr ? c.world() : member_of(function, c, g);
    if (ptr == nullptr)
      c.refuse_to_allocate(members, {FAIL, "ptr is NULL, but must be an array with an element for each process"});
    c.allocate(members, ptr, bytes);
    return 0;
  });
}

int release(const char* function, void* ptr, const ARMCI_Group* g) {
  return or_code(function, [&] {
    context& c = running();
    c.free(g == nullptr ? c.world() : member_of(function, c, g), ptr);
    return 0;
  });
}

/// Calls f(layout), unless there are no bytes.
template <class F>
void with_shape(const char* function, void* ptr, int levels, const int* stride, const int* count, void* buf, F&& f) {
  or_end(function, [&] {
    if (!check_shape({ptr, stride, buf, stride, count, levels, 0})) return;
    if (ptr == nullptr || buf == nullptr)
      misuse(function, std::string(ptr == nullptr ? "ptr" : "buf") + " is NULL, but must be an address");
    f(strided(ptr, stride, count, levels));
  });
}

}  // namespace

extern "C" {

int PARMCI_Malloc(void* ptr[], armci_size_t bytes) { return allocate("ARMCI_Malloc", ptr, bytes, nullptr); }
ARMCI_TWIN(Malloc);
int PARMCI_Free(void* ptr) { return release("ARMCI_Free", ptr, nullptr); }
ARMCI_TWIN(Free);

int ARMCI_Malloc_group(void* ptr[], armci_size_t bytes, ARMCI_Group* g) {
  return allocate("ARMCI_Malloc_group", ptr, bytes, g);
}
int ARMCI_Free_group(void* ptr, ARMCI_Group* g) { return release("ARMCI_Free_group", ptr, g); }

int PARMCI_Malloc_memdev(void* ptr[], armci_size_t bytes, const char*) {
  return allocate("ARMCI_Malloc_memdev", ptr, bytes, nullptr);
}
ARMCI_TWIN(Malloc_memdev);
int ARMCI_Malloc_group_memdev(void* ptr[], armci_size_t bytes, ARMCI_Group* g, const char*) {
  return allocate("ARMCI_Malloc_group_memdev", ptr, bytes, g);
}
int PARMCI_Free_memdev(void* ptr) { return release("ARMCI_Free_memdev", ptr, nullptr); }
ARMCI_TWIN(Free_memdev);

void* PARMCI_Malloc_local(armci_size_t bytes) {
  return bytes < 0 ? nullptr : local_blocks().allocate(static_cast<size_t>(bytes));
}
ARMCI_TWIN(Malloc_local);
int PARMCI_Free_local(void* ptr) {
  return or_code("ARMCI_Free_local", [&] {
    if (!local_blocks().release(ptr)) {
      char text[112];
      std::snprintf(text, sizeof text, "ptr = %p is no memory of ARMCI_Malloc_local, or was freed already", ptr);
      throw error(FAIL, text);
    }
    return 0;
  });
}
ARMCI_TWIN(Free_local);

void PARMCI_Access_begin(void*) {}
ARMCI_TWIN(Access_begin);
void PARMCI_Access_end(void*) {}
ARMCI_TWIN(Access_end);

void ARMCI_Copy(void* src, void* dst, int n) {
  if (n > 0) std::memmove(dst, src, static_cast<size_t>(n));
}

void armci_write_strided(void* ptr, int levels, int stride[], int count[], char* buf) {
  with_shape("armci_write_strided", ptr, levels, stride, count, buf,
             [&](const layout& l) { pack(reinterpret_cast<std::byte*>(buf), l, 0, l.size()); });
}
void armci_read_strided(void* ptr, int levels, int stride[], int count[], char* buf) {
  with_shape("armci_read_strided", ptr, levels, stride, count, buf,
             [&](const layout& l) { unpack(l, 0, reinterpret_cast<const std::byte*>(buf), l.size()); });
}

}  // extern "C"
