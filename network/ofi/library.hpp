// libfabric itself, loaded on first use: it loads a dozen other libraries that a job on one host does not need. These
// are its few functions; the rest of its interface is inline in headers.
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
  /// While the window exists, libfabric finds our settings in the environment. It reads most of them at the first
  /// fi_getinfo(), and some at each fi_getinfo(), fi_domain() and fi_endpoint().
  static extended_environment::window settings();
};

}  // namespace lci::network::ofi
