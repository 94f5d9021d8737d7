// libfabric itself, loaded by the first who asks for it: it brings a dozen other libraries, which a job
// on one host has no use for. Its few functions are here; the rest of its interface is in headers.
#pragma once

#include <rdma/fabric.h>

#include <string>

#include "network/ofi/extended_environment.hpp"

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
  /// As long as it exists, libfabric finds our settings in the environment. It reads most of them at the first
  /// fi_getinfo(), some at each, in fi_domain() and in fi_endpoint(), too.
  static extended_environment::window settings();
};

}  // namespace lci::network::ofi
