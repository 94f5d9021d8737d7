// Transfers of lists of segments.
#include <algorithm>

#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

size_t longest_segment(const armci_giov_t* list, int n) {
  int longest = 0;
  for (int i = 0; i < n; ++i) longest = std::max(longest, list[i].bytes);
  return static_cast<size_t>(longest);
}

int put_vector(const char* function, const armci_giov_t* list, int n, int proc, addition what,
               armci_hdl_t* handle = nullptr) {
  return or_code(function, [&] {
    context& c = running();
    if (what.adds) check_addition(function, what);
    check(c, list, n, proc, what);
    if (c.mem.is_near(proc))
      put(c, list, n, proc, what);
    else  // large segments may be under way together
      blocking(c, proc, [&](request_state* state) { put(c, list, n, proc, what, {true, state}); });
    complete(c, handle);
    return 0;
  });
}

}  // namespace

extern "C" {

int PARMCI_PutV(armci_giov_t* list, int n, int proc) { return put_vector("ARMCI_PutV", list, n, proc, {}); }
ARMCI_TWIN(PutV);

int PARMCI_GetV(armci_giov_t* list, int n, int proc) {
  return or_code("ARMCI_GetV", [&] {
    context& c = running();
    check(c, list, n, proc, {});
    blocking(c, proc, [&](request_state* state) { get(c, list, n, proc, state); });
    return 0;
  });
}
ARMCI_TWIN(GetV);

int PARMCI_AccV(int datatype, void* scale, armci_giov_t* list, int n, int proc) {
  return put_vector("ARMCI_AccV", list, n, proc, {datatype, scale});
}
ARMCI_TWIN(AccV);

int PARMCI_NbPutV(armci_giov_t* list, int n, int proc, armci_hdl_t* req) {
  return or_code("ARMCI_NbPutV", [&] {
    context& c = running();
    check(c, list, n, proc, {});
    non_blocking_put(c, req, proc, longest_segment(list, n), [&](put_return when) { put(c, list, n, proc, {}, when); });
    return 0;
  });
}
ARMCI_TWIN(NbPutV);

int PARMCI_NbGetV(armci_giov_t* list, int n, int proc, armci_hdl_t* req) {
  return or_code("ARMCI_NbGetV", [&] {
    context& c = running();
    check(c, list, n, proc, {});
    get(c, list, n, proc, begin_request(c, req, proc).state());
    return 0;
  });
}
ARMCI_TWIN(NbGetV);

int PARMCI_NbAccV(int datatype, void* scale, armci_giov_t* list, int n, int proc, armci_hdl_t* req) {
  return put_vector("ARMCI_NbAccV", list, n, proc, {datatype, scale}, req);
}
ARMCI_TWIN(NbAccV);

}  // extern "C"
