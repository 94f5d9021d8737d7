// Owning handles of libfabric objects, and libfabric errors as exceptions.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <memory>
#include <string>

#include "lci/errors.hpp"
#include "network/ofi/library.hpp"

namespace lci::network::ofi {

/// Calls fi_close(), several times for a memory region. If it is refused, logs that, and the object stays open.
void close_object(fid& object) noexcept;

struct close_fid {
  template <class T>
  void operator()(T* object) const {
    close_object(object->fid);
  }
};
/// Closes its object; declare members in the order in which libfabric requires them to be opened.
template <class T>
using owned = std::unique_ptr<T, close_fid>;

struct free_info {
  void operator()(fi_info* info) const { library::get().freeinfo(info); }
};
using owned_info = std::unique_ptr<fi_info, free_info>;

inline std::string error_text(int error) { return library::get().strerror(error); }

/// Returns which limit to raise, to be appended to the text of this error; empty if no limit is the reason.
inline const char* limit_to_raise(int error) { return error == FI_EMFILE ? "; raise `ulimit -n`" : ""; }

/// Throws resource_error if a call failed. `what`: the call and its argument.
inline void check(ssize_t result, const std::string& what) {
  if (result >= 0) return;
  const auto error = static_cast<int>(-result);
  throw resource_error("ofi: " + what + ": " + error_text(error) + " (" + std::to_string(error) + ")" +
                       limit_to_raise(error) + "; FI_LOG_LEVEL=warn makes libfabric say more");
}

/// An endpoint and what it needs, in the order in which libfabric requires them to be opened.
struct endpoint_parts {
  owned<fid_domain> domain;
  owned<fid_cq> queue;
  owned<fid_av> addresses;
  owned<fid_ep> endpoint;
  int wait_fd = -1;  ///< of the completion queue; -1: the provider has none
};
/// Opens them, and enables the endpoint. `completions`: entries of the queue; `peers`: expected number of addresses;
/// `where`: for errors. Throws resource_error. The caller holds a window of library::settings().
endpoint_parts open_parts(fid_fabric& fabric, fi_info& info, size_t completions, size_t peers,
                          const std::string& where);

}  // namespace lci::network::ofi
