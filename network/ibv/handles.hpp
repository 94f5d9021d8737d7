// Owning handles of libibverbs objects, and libibverbs errors as exceptions.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>
#include <string>

#include "network/ibv/library.hpp"

namespace lci::network::ibv {

/// Logs that a call could not destroy its object.
void object_stays(const char* call, int error) noexcept;

/// Calls `f`, and retries while the object is busy.
template <class F>
void destroy(const char* call, F f) noexcept {
  constexpr int most_tries = 10;
  int error = 0;
  for (int i = 0; i < most_tries; ++i) {
    error = f();
    if (error < 0) error = errno;
    if (error != EBUSY && error != EAGAIN) break;
  }
  if (error != 0) object_stays(call, error);
}

struct release {
  void operator()(ibv_device** list) const { library::get().free_device_list(list); }
  void operator()(ibv_context* c) const {
    destroy("ibv_close_device", [c] { return library::get().close_device(c); });
  }
  void operator()(ibv_pd* pd) const {
    destroy("ibv_dealloc_pd", [pd] { return library::get().dealloc_pd(pd); });
  }
  void operator()(ibv_td* td) const {
    destroy("ibv_dealloc_td", [td] { return ibv_dealloc_td(td); });
  }
  void operator()(ibv_mr* mr) const {
    destroy("ibv_dereg_mr", [mr] { return library::get().dereg_mr(mr); });
  }
  void operator()(ibv_comp_channel* c) const {
    destroy("ibv_destroy_comp_channel", [c] { return library::get().destroy_comp_channel(c); });
  }
  void operator()(ibv_cq* cq) const {
    destroy("ibv_destroy_cq", [cq] { return library::get().destroy_cq(cq); });
  }
  void operator()(ibv_srq* srq) const {
    destroy("ibv_destroy_srq", [srq] { return library::get().destroy_srq(srq); });
  }
  void operator()(ibv_qp* qp) const {
    destroy("ibv_destroy_qp", [qp] { return library::get().destroy_qp(qp); });
  }
};
/// Declare members in the order in which their objects are made, so that none outlives what it depends on.
template <class T>
using owned = std::unique_ptr<T, release>;

/// "; at most N bytes may be locked: raise `ulimit -l`" if that explains the error, else empty.
std::string remedy_of(int error);

/// Throws resource_error. `what`: the call that failed and its argument.
[[noreturn]] void refused(const std::string& what, int error, const std::string& remedy);
[[noreturn]] void refused(const std::string& what, int error);

/// Takes ownership of what a call has made; throws, with errno, if the call failed.
template <class T>
owned<T> made(T* object, const std::string& what) {
  if (object == nullptr) refused(what, errno);
  return owned<T>(object);
}

}  // namespace lci::network::ibv
