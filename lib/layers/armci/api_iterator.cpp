// Iterators over the segments of a strided array.
#include <climits>
#include <string>

#include "armci/iterator.h"
#include "lib/layers/armci/errors.hpp"

using armci_layer::misuse;

namespace {

stride_info_t& checked(const char* function, stride_info_t* info) {
  if (info == nullptr) misuse(function, "the iterator is NULL, but must be one of armci_stride_info_init");
  return *info;
}
/// Of functions that need a segment.
stride_info_t& current(const char* function, stride_info_t* info) {
  stride_info_t& i = checked(function, info);
  if (i.position >= i.segments)
    misuse(function,
           "all " + std::to_string(i.segments) + " segments have been passed: call armci_stride_info_has_more before");
  return i;
}
int offset_of(const stride_info_t& i) {
  int offset = 0;
  for (int level = 0; level < i.levels; ++level) offset += i.at[level] * i.stride[level];
  return offset;
}

}  // namespace

extern "C" {

void armci_stride_info_init(stride_info_t* info, void* base, int levels, const int* stride, const int* count) {
  constexpr const char* function = "armci_stride_info_init";
  if (info == nullptr) misuse(function, "the iterator is NULL, but must be an address");
  if (levels < 0 || levels > ARMCI_MAX_STRIDE_LEVEL)
    misuse(function,
           "stride_levels = " + std::to_string(levels) + ", but must be 0.." + std::to_string(ARMCI_MAX_STRIDE_LEVEL));
  if (count == nullptr || (levels > 0 && stride == nullptr))
    misuse(function, std::string(count == nullptr ? "count" : "stride_arr") + " is NULL, but must be a list");
  stride_info_t i{};
  i.base = static_cast<char*>(base);
  i.levels = levels;
  long segments = 1;
  for (int level = 0; level <= levels; ++level) {
    if (count[level] < 0)
      misuse(function,
             "count[" + std::to_string(level) + "] = " + std::to_string(count[level]) + ", but must not be negative");
    i.count[level] = count[level];
    if (level == 0) continue;
    i.stride[level - 1] = stride[level - 1];
    segments *= count[level];
    if (segments > INT_MAX) misuse(function, "there are more than " + std::to_string(INT_MAX) + " segments");
  }
  i.segments = static_cast<int>(segments);
  *info = i;
}
void armci_stride_info_destroy(stride_info_t* info) { checked("armci_stride_info_destroy", info).segments = 0; }

int armci_stride_info_size(stride_info_t* info) { return checked("armci_stride_info_size", info).segments; }
int armci_stride_info_count(stride_info_t* info) { return checked("armci_stride_info_count", info).segments; }
int armci_stride_info_pos(stride_info_t* info) { return checked("armci_stride_info_pos", info).position; }
int armci_stride_info_has_more(stride_info_t* info) {
  const stride_info_t& i = checked("armci_stride_info_has_more", info);
  return i.position < i.segments ? 1 : 0;
}
void armci_stride_info_next(stride_info_t* info) {
  stride_info_t& i = current("armci_stride_info_next", info);
  ++i.position;
  for (int level = 0; level < i.levels; ++level) {
    if (++i.at[level] < i.count[level + 1]) return;
    i.at[level] = 0;
  }
}

void* armci_stride_info_seg_ptr(stride_info_t* info) {
  const stride_info_t& i = current("armci_stride_info_seg_ptr", info);
  return i.base + offset_of(i);
}
int armci_stride_info_seg_size(stride_info_t* info) { return current("armci_stride_info_seg_size", info).count[0]; }
int armci_stride_info_seg_off(stride_info_t* info) { return offset_of(current("armci_stride_info_seg_off", info)); }

}  // extern "C"
