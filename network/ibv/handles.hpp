// Owners of libibverbs' objects, and its errors as exceptions.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>
#include <string>

#include "network/ibv/library.hpp"

namespace lci::network::ibv {

struct release {
  void operator()(ibv_device** list) const { library::get().free_device_list(list); }
  void operator()(ibv_context* c) const { library::get().close_device(c); }
  void operator()(ibv_pd* pd) const { library::get().dealloc_pd(pd); }
  void operator()(ibv_td* td) const { ibv_dealloc_td(td); }
  void operator()(ibv_mr* mr) const { library::get().dereg_mr(mr); }
  void operator()(ibv_comp_channel* c) const { library::get().destroy_comp_channel(c); }
  void operator()(ibv_cq* cq) const { library::get().destroy_cq(cq); }
  void operator()(ibv_srq* srq) const { library::get().destroy_srq(srq); }
  void operator()(ibv_qp* qp) const { library::get().destroy_qp(qp); }
};
/// Members must stand in the order in which the objects are made: none outlives what it needs.
template <class T>
using owned = std::unique_ptr<T, release>;

/// "; at most N bytes may be locked: raise `ulimit -l`" where that explains the error, else empty.
std::string remedy_of(int error);

/// Throws resource_error. `what`: the call that was refused, and with which argument.
[[noreturn]] void refused(const std::string& what, int error, const std::string& remedy);
[[noreturn]] void refused(const std::string& what, int error);

/// Takes what a call has made; throws, by errno, if it has made nothing.
template <class T>
owned<T> made(T* object, const std::string& what) {
  if (object == nullptr) refused(what, errno);
  return owned<T>(object);
}

}  // namespace lci::network::ibv
