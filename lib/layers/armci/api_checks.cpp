// Checks of arguments, with the codes that programs know since 2000.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "lib/layers/armci/api.hpp"

namespace armci_layer {

void throw_not_running() { throw error(internal_failure, "ARMCI is not running: call ARMCI_Init first"); }

void throw_bad_proc(int proc, int n) {
  throw error(FAIL5, "proc = " + std::to_string(proc) + ", but must be 0.." + std::to_string(n - 1));
}

void check_proc(const char* function, const context& c, int proc) {
  if (proc < 0 || proc >= c.size())
    misuse(function, "proc = " + std::to_string(proc) + ", but must be 0.." + std::to_string(c.size() - 1));
}

const group& member_of(const char* function, context& c, const ARMCI_Group* g) {
  const group* found = c.groups.find(g);
  if (found == nullptr)
    misuse(function, "the group is not one of ARMCI_Group_create or ARMCI_Group_get_world, or was freed");
  if (found->me < 0) misuse(function, "this process is no member of the group");
  return *found;
}

namespace {

const char* unnamed(const void* source) { return source == nullptr ? "src" : "dst"; }

void check_elements(size_t bytes, const char* name, addition what) {
  if (!what.adds) return;
  const size_t element = element_size(what.type);
  if (bytes % element != 0)
    throw error(FAIL3, std::string(name) + " = " + std::to_string(bytes) + ", but must be a multiple of the " +
                           std::to_string(element) + " bytes of an element");
}

void check_count(const strided_arguments& a, int i) {
  if (LCI_UNLIKELY(a.counts[i] < 0))
    throw error(FAIL3, (a.is_contiguous ? "bytes" : "count[" + std::to_string(i) + "]") + " = " +
                           std::to_string(a.counts[i]) + ", but must be 0 or more");
}

}  // namespace

void check_addition(const char* function, addition what) {
  if (element_size(what.type) == 0)
    misuse(function, "datatype = " + std::to_string(what.type) +
                         ", but must be one of ARMCI_ACC_INT, _LNG, _FLT, _DBL, _CPL, _DCP");
  if (what.scale == nullptr) throw error(FAIL, "scale is NULL, but must point to an element");
}

bool check_shape(const strided_arguments& a) {
  // If several arguments are invalid, the code is that of the first check. ARMCI 1.1 checks in this order.
  if (a.counts != nullptr) check_count(a, 0);
  if (a.levels < 0 || a.levels > max_levels)
    throw error(FAIL4,
                "stride_levels = " + std::to_string(a.levels) + ", but must be 0.." + std::to_string(max_levels));
  if (a.levels > 0 && (a.src_strides == nullptr || a.dst_strides == nullptr))
    throw error(FAIL2, "strides are NULL, but stride_levels is " + std::to_string(a.levels));
  if (a.counts == nullptr) throw error(FAIL3, "count is NULL, but must be an array");
  bool any = true;
  for (int i = 0; i <= a.levels; ++i) {
    check_count(a, i);
    any &= a.counts[i] > 0;
  }
  return any;
}

bool check(const context& c, const strided_arguments& a, addition what) {
  if (a.src == nullptr || a.dst == nullptr)
    throw error(FAIL, std::string(unnamed(a.src)) + " is NULL, but must be an address");
  const bool any = check_shape(a);
  check_proc(c, a.proc);
  check_elements(static_cast<size_t>(a.counts[0]), a.is_contiguous ? "bytes" : "count[0]", what);
  return any;
}

void check(const context& c, const armci_giov_t* list, int n, int proc, addition what) {
  if (n < 1) throw error(FAIL, "arr_len = " + std::to_string(n) + ", but must be 1 or more");
  if (list == nullptr) throw error(FAIL2, "dscr_arr is NULL, but must be an array");
  for (int i = 0; i < n; ++i) {
    const armci_giov_t& v = list[i];
    const auto field = [i](const char* name) { return "dscr_arr[" + std::to_string(i) + "]." + name; };
    if (v.src_ptr_array == nullptr || v.dst_ptr_array == nullptr)
      throw error(FAIL2, field("src_ptr_array or dst_ptr_array") + " is NULL, but must be an array");
    if (v.bytes < 1) throw error(FAIL3, field("bytes") + " = " + std::to_string(v.bytes) + ", but must be 1 or more");
    if (v.ptr_array_len < 1)
      throw error(FAIL4, field("ptr_array_len") + " = " + std::to_string(v.ptr_array_len) + ", but must be 1 or more");
    for (const auto& [name, addresses] :
         {std::pair("src_ptr_array", v.src_ptr_array), std::pair("dst_ptr_array", v.dst_ptr_array)})
      if (const auto at = std::find(addresses, addresses + v.ptr_array_len, nullptr); at != addresses + v.ptr_array_len)
        throw error(FAIL2, field(name) + "[" + std::to_string(at - addresses) + "] is NULL, but must be an address");
    check_elements(static_cast<size_t>(v.bytes), field("bytes").c_str(), what);
  }
  check_proc(c, proc);
}

}  // namespace armci_layer
