// One-sided operations by UCX, on memory that it allocates and maps.
#pragma once

#include "bench/peers/forked_job.hpp"
#include "bench/peers/one_sided.hpp"
#include "bench/peers/ucx_end.hpp"

namespace peers {

class ucx_window {
 public:
  /// Collective over both processes. Uses numbers of publish() from `number` on.
  ucx_window(ucx_context& context, ucx_worker& worker, forked_job& all, int number, size_t bytes);
  ~ucx_window();
  ucx_window(const ucx_window&) = delete;
  ucx_window& operator=(const ucx_window&) = delete;

  char* mine() { return mine_; }
  char* local() { return local_.get(); }
  void sync() {}

  void put(size_t size) {
    const ucp_request_param_t how{};
    started(ucp_put_nbx(worker_.endpoint, local_.get(), size, remote_, key_, &how));
  }
  void get(size_t size) {
    const ucp_request_param_t how{};
    started(ucp_get_nbx(worker_.endpoint, local_.get(), size, remote_, key_, &how));
  }
  void fetch_add();
  void put_block();
  void complete() { worker_.flush(); }

  void put_signal(size_t size) {
    put(size);
    check_ucx(ucp_worker_fence(worker_.handle), "ucp_worker_fence");
    signal_.post_ack();
  }
  void await_signal() { signal_.wait_ack(); }

 private:
  /// Operations complete in complete(), which needs no requests, so frees them.
  static void started(ucs_status_ptr_t request) {
    if (UCS_PTR_IS_ERR(request)) die("UCX", ucs_status_string(UCS_PTR_STATUS(request)));
    if (request != nullptr) ucp_request_free(request);
  }

  ucx_context& context_;
  ucx_worker& worker_;
  ucx_am_end signal_;
  const lci_perf::page_buffer local_;
  ucp_mem_h memory_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  char* mine_ = nullptr;
  uint64_t remote_ = 0, one_ = 1, before_ = 0;
};

}  // namespace peers
