#include "bench/peers/ucx_worker.hpp"

#include <cstring>

namespace peers {
namespace {

ucs_status_t on_message(void* to, const void*, size_t, void* data, size_t size, const ucp_am_recv_param_t* param) {
  auto& box = *static_cast<ucx_box*>(to);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.user_data = &box;
    how.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* user) {
      check_ucx(status, "a large active message");
      static_cast<ucx_box*>(user)->count();
      ucp_request_free(request);
    };
    const ucs_status_ptr_t request = ucp_am_recv_data_nbx(box.worker, data, box.large, size, &how);
    if (UCS_PTR_IS_ERR(request)) die("ucp_am_recv_data_nbx", ucs_status_string(UCS_PTR_STATUS(request)));
    if (request == nullptr) box.count();
    return UCS_OK;
  }
  if (box.keep) {
    std::memcpy(box.large, data, size);
  } else {
    // One byte per cache line, as lci_perf's handler: data that isn't read is not moved between caches.
    const auto* const bytes = static_cast<const volatile char*>(data);
    for (size_t i = 0; i < size; i += 64) (void)bytes[i];
  }
  box.count();
  return UCS_OK;
}

}  // namespace

void ucx_box::count() {
  if (shared) {
    arrived.fetch_add(1, std::memory_order_release);  // A2: pairs with A1
  } else {
    arrived.store(arrived.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // A2
  }
}

ucx_context::ucx_context(bool several) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
  params.mt_workers_shared = several ? 1 : 0;
  check_ucx(ucp_init(&params, nullptr, &handle), "ucp_init");
}

ucx_worker::ucx_worker(const ucx_context& context, bool threads, bool crowded) : waiter_(crowded) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = threads ? UCS_THREAD_MODE_MULTI : UCS_THREAD_MODE_SINGLE;
  check_ucx(ucp_worker_create(context.handle, &params, &handle), "ucp_worker_create");
  ucp_worker_attr_t has{};
  has.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
  check_ucx(ucp_worker_query(handle, &has), "ucp_worker_query");
  if (threads && has.thread_mode != UCS_THREAD_MODE_MULTI) die("UCX", "built without support of threads");
}

std::vector<char> ucx_worker::address() const {
  ucp_address_t* bytes = nullptr;
  size_t size = 0;
  check_ucx(ucp_worker_get_address(handle, &bytes, &size), "ucp_worker_get_address");
  const char* const begin = reinterpret_cast<const char*>(bytes);
  std::vector<char> out(begin, begin + size);
  ucp_worker_release_address(handle, bytes);
  return out;
}

void ucx_worker::connect(const std::vector<char>& address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  check_ucx(ucp_ep_create(handle, &params, &endpoint), "ucp_ep_create");
}

void ucx_worker::disconnect() {
  const ucp_request_param_t how{};
  wait(ucp_ep_close_nbx(endpoint, &how));
}

void ucx_worker::deliver(unsigned id, ucx_box& box) {
  box.worker = handle;
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = id;
  params.cb = on_message;
  params.arg = &box;
  check_ucx(ucp_worker_set_am_recv_handler(handle, &params), "ucp_worker_set_am_recv_handler");
}

void ucx_worker::flush() {
  const ucp_request_param_t how{};
  wait(ucp_ep_flush_nbx(endpoint, &how));
}

}  // namespace peers
