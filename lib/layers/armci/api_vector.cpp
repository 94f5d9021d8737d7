// Transfers of lists of segments.
#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

int put_vector(const char* function, const armci_giov_t* list, int n, int proc, addition what,
               armci_hdl_t* handle = nullptr) {
  return or_code(function, [&] {
    context& c = running();
    if (what.adds) check_addition(function, what);
    check(c, list, n, proc, what);
    put(c, list, n, proc, what);
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
    blocking_get(c, proc, [&](request_state* state) { get(c, list, n, proc, state); });
    return 0;
  });
}
ARMCI_TWIN(GetV);

int PARMCI_AccV(int datatype, void* scale, armci_giov_t* list, int n, int proc) {
  return put_vector("ARMCI_AccV", list, n, proc, {datatype, scale});
}
ARMCI_TWIN(AccV);

int PARMCI_NbPutV(armci_giov_t* list, int n, int proc, armci_hdl_t* req) {
  return put_vector("ARMCI_NbPutV", list, n, proc, {}, req);
}
ARMCI_TWIN(NbPutV);

int PARMCI_NbGetV(armci_giov_t* list, int n, int proc, armci_hdl_t* req) {
  return or_code("ARMCI_NbGetV", [&] {
    context& c = running();
    check(c, list, n, proc, {});
    get(c, list, n, proc, begin_request(c, req, proc));
    return 0;
  });
}
ARMCI_TWIN(NbGetV);

int PARMCI_NbAccV(int datatype, void* scale, armci_giov_t* list, int n, int proc, armci_hdl_t* req) {
  return put_vector("ARMCI_NbAccV", list, n, proc, {datatype, scale}, req);
}
ARMCI_TWIN(NbAccV);

}  // extern "C"
