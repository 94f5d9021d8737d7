// A UCX worker and its endpoint to the partner's worker.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>

#include "bench/lci_perf/binding.hpp"
#include "bench/peers/session.hpp"

namespace peers {

inline void check_ucx(ucs_status_t status, const char* what) {
  if (status != UCS_OK) die(what, ucs_status_string(status));
}

/// The process's context.
class ucx_context {
 public:
  /// `several`: the workers are used by different threads.
  explicit ucx_context(bool several);
  ~ucx_context() { ucp_cleanup(handle); }
  ucx_context(const ucx_context&) = delete;
  ucx_context& operator=(const ucx_context&) = delete;
  ucp_context_h handle = nullptr;
};

/// The messages that have arrived for one end of a pair: counted, and read in place or in `large`.
struct alignas(128) ucx_box {
  std::atomic<uint64_t> arrived{0};
  bool shared = false;    ///< whether several threads run the handler
  char* large = nullptr;  ///< buffer of rendezvous messages; while checking, of all messages
  bool keep = false;
  ucp_worker_h worker = nullptr;
  void count();
};

class ucx_worker {
 public:
  ucx_worker(const ucx_context& context, bool threads, bool crowded);
  ~ucx_worker() { ucp_worker_destroy(handle); }
  ucx_worker(const ucx_worker&) = delete;
  ucx_worker& operator=(const ucx_worker&) = delete;

  std::vector<char> address() const;
  void connect(const std::vector<char>& address);
  /// Needs both sides to make progress.
  void disconnect();
  /// Delivers active messages with `id` to `box`.
  void deliver(unsigned id, ucx_box& box);

  void progress() {
    if (ucp_worker_progress(handle) == 0) waiter_.idle();
  }
  /// Waits until the operation that returned `request` is complete.
  void wait(ucs_status_ptr_t request) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) die("UCX", ucs_status_string(UCS_PTR_STATUS(request)));
    while (ucp_request_check_status(request) == UCS_INPROGRESS) progress();
    check_ucx(ucp_request_check_status(request), "UCX request");
    ucp_request_free(request);
  }
  void flush();

  ucp_worker_h handle = nullptr;
  ucp_ep_h endpoint = nullptr;

 private:
  lci_perf::waiter waiter_;
};

}  // namespace peers
