// The functions of mercury_stubs.h.
#include <mercury_stubs.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "lib/layers/mercury/misuse.hpp"

using namespace mercury;

namespace {

// The server's address. Never destroyed, since other threads may call stubs until the process exits.
struct stub_state {
  std::mutex lock;
  na_class_t* na = nullptr;  // the class that has looked up `server`
  na_addr_t server = NA_ADDR_NULL;
};

stub_state& the_stubs() {
  static stub_state& s = *new stub_state;
  return s;
}

/// Called at exit. Finalizes HG and NA unless the program has.
void finalize() {
  stub_state& s = the_stubs();
  std::lock_guard guard(s.lock);
  hg_bool_t is_there = HG_FALSE;
  na_class_t* na = nullptr;
  if (HG_Initialized(&is_there, &na) != HG_SUCCESS || !is_there || na != s.na) return;
  if (s.server != NA_ADDR_NULL) NA_Addr_free(na, s.server);
  if (HG_Finalize() == HG_SUCCESS) NA_Finalize(na);
}

hg_return_t initialize(na_class_t** na) {
  const char* url = std::getenv(HG_NA_PLUGIN);
  *na = NA_Initialize(url != nullptr && *url != 0 ? url : "tcp", NA_FALSE);
  if (*na == nullptr) return fail(HG_NA_ERROR, "hg_stub_start", "NA_Initialize() fails; see " HG_NA_PLUGIN);
  const hg_return_t result = HG_Init(*na);
  if (result != HG_SUCCESS) {
    NA_Finalize(*na);
    return result;
  }
  std::atexit(finalize);
  return HG_SUCCESS;
}

hg_return_t server_address(const char* function, na_addr_t* address) {
  stub_state& s = the_stubs();
  std::lock_guard guard(s.lock);
  hg_bool_t is_there = HG_FALSE;
  na_class_t* na = nullptr;
  hg_return_t result = HG_Initialized(&is_there, &na);
  if (result == HG_SUCCESS && !is_there) result = initialize(&na);
  if (result != HG_SUCCESS) return result;
  if (s.na != na || s.server == NA_ADDR_NULL) {
    const char* name = std::getenv(HG_PORT_NAME);
    if (name == nullptr || *name == 0)
      return fail(HG_FAIL, function, "the environment variable " HG_PORT_NAME " must contain the server's address");
    na_addr_t found = NA_ADDR_NULL;
    if (NA_Addr_lookup_wait(na, name, &found) != NA_SUCCESS)
      return fail(HG_NA_ERROR, function, "the server at \"%s\" (" HG_PORT_NAME ") can't be reached", name);
    s.na = na;
    s.server = found;
  }
  *address = s.server;
  return HG_SUCCESS;
}

/// Makes the next call look up the server again, since it may have been restarted.
void forget_server() {
  stub_state& s = the_stubs();
  std::lock_guard guard(s.lock);
  if (s.server != NA_ADDR_NULL) NA_Addr_free(s.na, s.server);
  s.server = NA_ADDR_NULL;
}

hg_return_t wait_for(hg_bulk_request_t request) {
  hg_status_t status = HG_FALSE;
  const hg_return_t result = HG_Bulk_wait(request, HG_MAX_IDLE_TIME, &status);
  return result == HG_SUCCESS && status == HG_FALSE ? HG_TIMEOUT : result;
}

hg_return_t make_local(hg_bulk_t remote, hg_bulk_t* local, void** buf, size_t* size) {
  *size = HG_Bulk_handle_get_size(remote);
  const hg_return_t result = HG_Bulk_handle_create(1, nullptr, size, HG_BULK_READWRITE, local);
  if (result != HG_SUCCESS) return result;
  return HG_Bulk_handle_access(*local, 0, *size, HG_BULK_READWRITE, 1, buf, nullptr, nullptr);
}

}  // namespace

hg_return_t hg_stub_start() {
  na_addr_t address = NA_ADDR_NULL;
  return guarded(__func__, [&] { return server_address("hg_stub_start", &address); });
}

hg_return_t hg_stub_call(const char* func_name, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, void* in_struct,
                         void* out_struct, hg_request_t* request) {
  if (func_name == nullptr || request == nullptr)
    return fail(HG_FAIL, __func__, "%s is NULL, but must not be", func_name == nullptr ? "func_name" : "request");
  na_addr_t server = NA_ADDR_NULL;
  hg_return_t result = guarded(__func__, [&] { return server_address("hg_stub_call", &server); });
  if (result != HG_SUCCESS) return result;
  hg_bool_t is_known = HG_FALSE;
  hg_id_t id = 0;
  result = HG_Registered(func_name, &is_known, &id);
  if (result == HG_SUCCESS && !is_known) id = HG_Register(func_name, in_proc_cb, out_proc_cb, nullptr);
  if (result != HG_SUCCESS || id == 0) return HG_FAIL;
  result = HG_Forward(server, id, in_struct, out_struct, request);
  if (result == HG_SUCCESS) {
    hg_status_t status = HG_FALSE;
    result = HG_Wait(*request, HG_MAX_IDLE_TIME, &status);
    if (result == HG_SUCCESS && status == HG_FALSE) result = HG_TIMEOUT;
    if (result != HG_SUCCESS) HG_Request_free(*request);
  }
  if (result != HG_SUCCESS) *request = HG_REQUEST_NULL;
  if (result == HG_NA_ERROR) forget_server();
  return result;
}

hg_return_t hg_stub_bulk(hg_bulk_op_t op, hg_handle_t handle, hg_bulk_t remote, hg_bulk_t* local, void** buf,
                         size_t* size) {
  if (local == nullptr || buf == nullptr || size == nullptr)
    return fail(HG_INVALID_PARAM, __func__, "local, buf or size is NULL, but must not be");
  if (*local == HG_BULK_NULL)
    if (const hg_return_t result = make_local(remote, local, buf, size); result != HG_SUCCESS) return result;
  if (handle == HG_HANDLE_NULL) return HG_SUCCESS;
  hg_bulk_request_t request = HG_BULK_REQUEST_NULL;
  const hg_return_t result = HG_Bulk_transfer(op, HG_Handler_get_addr(handle), remote, 0, *local, 0, *size, &request);
  return result == HG_SUCCESS ? wait_for(request) : result;
}
