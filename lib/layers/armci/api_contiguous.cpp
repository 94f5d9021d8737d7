// Transfers of contiguous bytes, and of single values.
#include "armci/parmci.h"
#include "lib/base/copy_large.hpp"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

/// Where this process reaches all of the memory, and the arguments are good; else null.
LCI_ALWAYS_INLINE inline std::byte* reachable(const context* c, const void* local, const void* there, int bytes,
                                              int proc) {
  if (LCI_UNLIKELY(c == nullptr || local == nullptr || there == nullptr || bytes < 0 ||
                   static_cast<unsigned>(proc) >= static_cast<unsigned>(c->size())))
    return nullptr;
  return c->mem.near(proc, there, static_cast<size_t>(bytes));
}

[[gnu::cold, gnu::noinline]] int put_checked(const char* function, void* src, void* dst, int bytes, int proc,
                                             addition what, armci_hdl_t* handle) {
  return or_code(function, [&] {
    context& c = running();
    if (what.adds) check_addition(function, what);
    const strided_arguments a{src, nullptr, dst, nullptr, &bytes, 0, proc, true};
    if (check(c, a, what)) put(c, a, what);
    complete(c, handle);
    return 0;
  });
}

[[gnu::cold, gnu::noinline]] int get_checked(const char* function, void* src, void* dst, int bytes, int proc) {
  return or_code(function, [&] {
    context& c = running();
    const strided_arguments a{src, nullptr, dst, nullptr, &bytes, 0, proc, true};
    if (!check(c, a, {})) return 0;
    blocking(c, proc, [&](request_state* state) { get(c, a, state); });
    return 0;
  });
}

[[gnu::cold, gnu::noinline]] int nb_put_checked(void* src, void* dst, int bytes, int proc, armci_hdl_t* handle) {
  return or_code("ARMCI_NbPut", [&] {
    context& c = running();
    const strided_arguments a{src, nullptr, dst, nullptr, &bytes, 0, proc, true};
    if (!check(c, a, {}))
      complete(c, handle);
    else
      non_blocking_put(c, handle, proc, static_cast<size_t>(bytes), [&](put_return when) { put(c, a, {}, when); });
    return 0;
  });
}

/// One value is stored and loaded whole.
template <class T>
int put_value(const char* function, T value, void* dst, int proc, armci_hdl_t* handle = nullptr) {
  if (std::byte* const to = reachable(the_context, &value, dst, sizeof value, proc)) {
    std::memcpy(to, &value, sizeof value);
    complete(*the_context, handle);
    return 0;
  }
  return put_checked(function, &value, dst, sizeof value, proc, {}, handle);
}
template <class T>
T get_value(const char* function, void* src, int proc) {
  T value{};
  if (const std::byte* const from = reachable(the_context, &value, src, sizeof value, proc)) {
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  // The value is the result, so there is no place for a code.
  if (get_checked(function, src, &value, sizeof value, proc) != 0) misuse(function, "it has no value to return");
  return value;
}

}  // namespace

extern "C" {

int PARMCI_Put(void* src, void* dst, int bytes, int proc) {
  if (std::byte* const to = reachable(the_context, src, dst, bytes, proc)) {
    lci::large_copy::copy(to, src, static_cast<size_t>(bytes));
    return 0;
  }
  return put_checked("ARMCI_Put", src, dst, bytes, proc, {}, nullptr);
}
ARMCI_TWIN(Put);

int PARMCI_Get(void* src, void* dst, int bytes, int proc) {
  if (const std::byte* const from = reachable(the_context, dst, src, bytes, proc)) {
    lci::large_copy::copy(dst, from, static_cast<size_t>(bytes));
    return 0;
  }
  return get_checked("ARMCI_Get", src, dst, bytes, proc);
}
ARMCI_TWIN(Get);

int PARMCI_Acc(int datatype, void* scale, void* src, void* dst, int bytes, int proc) {
  return put_checked("ARMCI_Acc", src, dst, bytes, proc, {datatype, scale}, nullptr);
}
ARMCI_TWIN(Acc);

int PARMCI_NbPut(void* src, void* dst, int bytes, int proc, armci_hdl_t* req) {
  if (std::byte* const to = reachable(the_context, src, dst, bytes, proc)) {
    lci::large_copy::copy(to, src, static_cast<size_t>(bytes));
    complete(*the_context, req);
    return 0;
  }
  return nb_put_checked(src, dst, bytes, proc, req);
}
ARMCI_TWIN(NbPut);

int PARMCI_NbGet(void* src, void* dst, int bytes, int proc, armci_hdl_t* req) {
  if (const std::byte* const from = reachable(the_context, dst, src, bytes, proc)) {
    lci::large_copy::copy(dst, from, static_cast<size_t>(bytes));
    complete(*the_context, req);
    return 0;
  }
  return or_code("ARMCI_NbGet", [&] {
    context& c = running();
    const strided_arguments a{src, nullptr, dst, nullptr, &bytes, 0, proc, true};
    if (check(c, a, {}))
      get(c, a, begin_request(c, req, proc).state());
    else
      complete(c, req);
    return 0;
  });
}
ARMCI_TWIN(NbGet);

int PARMCI_NbAcc(int datatype, void* scale, void* src, void* dst, int bytes, int proc, armci_hdl_t* req) {
  return put_checked("ARMCI_NbAcc", src, dst, bytes, proc, {datatype, scale}, req);
}
ARMCI_TWIN(NbAcc);

int PARMCI_PutValueInt(int value, void* dst, int proc) { return put_value("ARMCI_PutValueInt", value, dst, proc); }
ARMCI_TWIN(PutValueInt);
int PARMCI_PutValueLong(long value, void* dst, int proc) { return put_value("ARMCI_PutValueLong", value, dst, proc); }
ARMCI_TWIN(PutValueLong);
int PARMCI_PutValueFloat(float value, void* dst, int proc) {
  return put_value("ARMCI_PutValueFloat", value, dst, proc);
}
ARMCI_TWIN(PutValueFloat);
int PARMCI_PutValueDouble(double value, void* dst, int proc) {
  return put_value("ARMCI_PutValueDouble", value, dst, proc);
}
ARMCI_TWIN(PutValueDouble);

int PARMCI_NbPutValueInt(int value, void* dst, int proc, armci_hdl_t* req) {
  return put_value("ARMCI_NbPutValueInt", value, dst, proc, req);
}
ARMCI_TWIN(NbPutValueInt);
int PARMCI_NbPutValueLong(long value, void* dst, int proc, armci_hdl_t* req) {
  return put_value("ARMCI_NbPutValueLong", value, dst, proc, req);
}
ARMCI_TWIN(NbPutValueLong);
int PARMCI_NbPutValueFloat(float value, void* dst, int proc, armci_hdl_t* req) {
  return put_value("ARMCI_NbPutValueFloat", value, dst, proc, req);
}
ARMCI_TWIN(NbPutValueFloat);
int PARMCI_NbPutValueDouble(double value, void* dst, int proc, armci_hdl_t* req) {
  return put_value("ARMCI_NbPutValueDouble", value, dst, proc, req);
}
ARMCI_TWIN(NbPutValueDouble);

int PARMCI_GetValueInt(void* src, int proc) { return get_value<int>("ARMCI_GetValueInt", src, proc); }
ARMCI_TWIN(GetValueInt);
long PARMCI_GetValueLong(void* src, int proc) { return get_value<long>("ARMCI_GetValueLong", src, proc); }
ARMCI_TWIN(GetValueLong);
float PARMCI_GetValueFloat(void* src, int proc) { return get_value<float>("ARMCI_GetValueFloat", src, proc); }
ARMCI_TWIN(GetValueFloat);
double PARMCI_GetValueDouble(void* src, int proc) { return get_value<double>("ARMCI_GetValueDouble", src, proc); }
ARMCI_TWIN(GetValueDouble);

}  // extern "C"
