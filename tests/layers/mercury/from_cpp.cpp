// The headers in C++: routines that return int, NULL and nullptr are registered as in C.
extern "C" {  // as programs do with C headers
#include <mercury_callback.h>
#include <mercury_checksum.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>
}

#include <cstdio>

namespace {
struct in_t {
  hg_int32_t value;
};
int hg_proc_in_t(hg_proc_t proc, void* data) { return hg_proc_int32_t(proc, &static_cast<in_t*>(data)->value); }
MERCURY_GEN_PROC(out_t, ((hg_int32_t)(value))((in_t)(nested)))

int execute(hg_handle_t handle) {
  in_t in;
  if (HG_Handler_get_input(handle, &in) != HG_SUCCESS) return HG_FAIL;
  out_t out{in.value + 1, {in.value + 2}};
  HG_Handler_start_output(handle, &out);
  return HG_Handler_free(handle);
}
hg_return_t execute_too(hg_handle_t handle) { return HG_Handler_free(handle); }
}  // namespace

int main() {
  na_class_t* na = NA_Initialize("self", NA_FALSE);
  if (na == nullptr || HG_Init(na) != HG_SUCCESS) return 1;
  const hg_id_t id = MERCURY_REGISTER("add", in_t, out_t, execute);
  if (HG_Register("a", NULL, NULL, NULL) == 0 || HG_Register("b", nullptr, hg_proc_out_t, execute_too) == 0 ||
      HG_Register("c", hg_proc_in_t, NULL, NULL) == 0 || MERCURY_REGISTER("d", void, void, execute) == 0 ||
      MERCURY_REGISTER("e", void, in_t, execute_too) == 0 || HG_Register("f", hg_proc_in_t, nullptr, nullptr) == 0 ||
      HG_Register("g", nullptr, nullptr, execute) == 0)
    return 2;
  na_addr_t self;
  hg_request_t request;
  hg_status_t status;
  in_t in{5};
  out_t out{};
  NA_Addr_self(na, &self);
  if (HG_Forward(self, id, &in, &out, &request) != HG_SUCCESS) return 3;
  if (HG_Wait(request, 1000, &status) != HG_SUCCESS || !status || out.value != 6 || out.nested.value != 7) return 4;
  HG_Request_free(request);
  NA_Addr_free(na, self);
  return HG_Finalize() == HG_SUCCESS && NA_Finalize(na) == NA_SUCCESS ? 0 : 5;
}
