#include "network/ofi/handles.hpp"

#include <string>

#include "lib/base/log.hpp"

namespace lci::network::ofi {

namespace {

/// Attempts of fi_close() on a memory region, which providers refuse while something still uses it. Other objects are
/// closed once only: ofi_rxm of libfabric 1.17 has freed half of its domain when it returns FI_EBUSY.
constexpr int most_tries = 10;

const char* name_of(const fid& object) {
  switch (object.fclass) {
    case FI_CLASS_FABRIC:
      return "a fabric";
    case FI_CLASS_DOMAIN:
      return "a domain";
    case FI_CLASS_EP:
      return "an endpoint";
    case FI_CLASS_CQ:
      return "a completion queue";
    case FI_CLASS_AV:
      return "an address vector";
    case FI_CLASS_MR:
      return "a memory region";
    default:
      return "an object";
  }
}

}  // namespace

void close_object(fid& object) noexcept {
  const char* const what = name_of(object);  // read before fi_close() frees the object
  int error = 0;
  for (int left = object.fclass == FI_CLASS_MR ? most_tries : 1; left > 0; --left)
    if ((error = -fi_close(&object)) != FI_EBUSY && error != FI_EAGAIN) break;
  if (error == 0) return;
  try {
    log_warning(std::string("ofi: fi_close of ") + what + ": " + error_text(error) + " (" + std::to_string(error) +
                "): it stays open until the process ends; FI_LOG_LEVEL=warn makes libfabric say more");
  } catch (const std::exception&) {
    // Out of memory: the log message is dropped.
  }
}

}  // namespace lci::network::ofi
