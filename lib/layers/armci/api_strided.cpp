// Transfers between strided arrays, and the puts that store a flag behind their data.
#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

size_t size_of(const strided_arguments& a) {
  size_t bytes = 1;
  for (int i = 0; i <= a.levels; ++i) bytes *= static_cast<size_t>(a.counts[i]);
  return bytes;
}

int put_strided(const char* function, const strided_arguments& a, addition what, armci_hdl_t* handle = nullptr) {
  return or_code(function, [&] {
    context& c = running();
    if (check(c, a, what)) put(c, a, what);
    complete(c, handle);
    return 0;
  });
}
int add_strided(const char* function, const strided_arguments& a, int type, void* scale,
                armci_hdl_t* handle = nullptr) {
  return or_code(function, [&] {
    const addition what{type, scale};
    check_addition(function, what);
    return put_strided(function, a, what, handle);
  });
}
int get_strided(const char* function, const strided_arguments& a) {
  return or_code(function, [&] {
    context& c = running();
    if (!check(c, a, {})) return 0;
    blocking(c, a.proc, [&](request_state* state) { get(c, a, state); });
    return 0;
  });
}

int put_then_flag(const char* function, const strided_arguments& a, int* flag, int value) {
  return or_code(function, [&] {
    context& c = running();
    if (flag == nullptr) throw error(FAIL2, "flag is NULL, but must be an address");
    const bool any = check(c, a, {});
    if (!c.mem.is_near(a.proc)) {  // in order
      blocking(c, a.proc, [&](request_state* state) {
        if (any) put(c, a, {}, {true, state});
        c.far.put(contiguous(&value, sizeof value), contiguous(flag, sizeof value), a.proc, {});
      });
      return 0;
    }
    if (any) put(c, a, {});
    std::byte* const here = c.mem.near_or_reach(a.proc, flag, sizeof value);
    if (reinterpret_cast<uintptr_t>(here) % sizeof value == 0)
      __atomic_store_n(reinterpret_cast<int*>(here), value, __ATOMIC_RELEASE);
    else
      std::memcpy(here, &value, sizeof value);
    return 0;
  });
}

}  // namespace

extern "C" {

int PARMCI_PutS(void* src, int sstr[], void* dst, int dstr[], int count[], int levels, int proc) {
  return put_strided("ARMCI_PutS", {src, sstr, dst, dstr, count, levels, proc}, {});
}
ARMCI_TWIN(PutS);

int PARMCI_GetS(void* src, int sstr[], void* dst, int dstr[], int count[], int levels, int proc) {
  return get_strided("ARMCI_GetS", {src, sstr, dst, dstr, count, levels, proc});
}
ARMCI_TWIN(GetS);

int PARMCI_AccS(int datatype, void* scale, void* src, int sstr[], void* dst, int dstr[], int count[], int levels,
                int proc) {
  return add_strided("ARMCI_AccS", {src, sstr, dst, dstr, count, levels, proc}, datatype, scale);
}
ARMCI_TWIN(AccS);

int PARMCI_NbPutS(void* src, int sstr[], void* dst, int dstr[], int count[], int levels, int proc, armci_hdl_t* req) {
  return or_code("ARMCI_NbPutS", [&] {
    context& c = running();
    const strided_arguments a{src, sstr, dst, dstr, count, levels, proc};
    if (!check(c, a, {}))
      complete(c, req);
    else
      non_blocking_put(c, req, proc, size_of(a), [&](put_return when) { put(c, a, {}, when); });
    return 0;
  });
}
ARMCI_TWIN(NbPutS);

int PARMCI_NbGetS(void* src, int sstr[], void* dst, int dstr[], int count[], int levels, int proc, armci_hdl_t* req) {
  return or_code("ARMCI_NbGetS", [&] {
    context& c = running();
    const strided_arguments a{src, sstr, dst, dstr, count, levels, proc};
    if (check(c, a, {}))
      get(c, a, begin_request(c, req, proc).state());
    else
      complete(c, req);
    return 0;
  });
}
ARMCI_TWIN(NbGetS);

int PARMCI_NbAccS(int datatype, void* scale, void* src, int sstr[], void* dst, int dstr[], int count[], int levels,
                  int proc, armci_hdl_t* req) {
  return add_strided("ARMCI_NbAccS", {src, sstr, dst, dstr, count, levels, proc}, datatype, scale, req);
}
ARMCI_TWIN(NbAccS);

int PARMCI_Put_flag(void* src, void* dst, int bytes, int* flag, int val, int proc) {
  return put_then_flag("ARMCI_Put_flag", {src, nullptr, dst, nullptr, &bytes, 0, proc}, flag, val);
}
ARMCI_TWIN(Put_flag);
int PARMCI_PutS_flag(void* src, int sstr[], void* dst, int dstr[], int count[], int levels, int* flag, int val,
                     int proc) {
  return put_then_flag("ARMCI_PutS_flag", {src, sstr, dst, dstr, count, levels, proc}, flag, val);
}
ARMCI_TWIN(PutS_flag);
int PARMCI_PutS_flag_dir(void* src, int sstr[], void* dst, int dstr[], int count[], int levels, int* flag, int val,
                         int proc) {
  return put_then_flag("ARMCI_PutS_flag_dir", {src, sstr, dst, dstr, count, levels, proc}, flag, val);
}
ARMCI_TWIN(PutS_flag_dir);

}  // extern "C"
