// libfabric itself, loaded by the first who asks for it: it brings a dozen other libraries, which a job
// on one host has no use for. Its few functions are here; the rest of its interface is in headers.
#pragma once

#include <rdma/fabric.h>

#include <string>

namespace lci::network::ofi {

struct library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  std::string missing;  ///< why it can't be used; else empty

  /// Thread-safe.
  static const library& get();
};

}  // namespace lci::network::ofi
