// cancel(): by name.
#include "generated/core_operations.hpp"
#include "lib/core/operation/ticket.hpp"

namespace lci::core {

bool cancel(cancel_args& a) {
  if (a.operation.is_empty()) return false;
  return static_cast<ticket*>(a.operation.impl)->cancel(a.operation.serial, errorcode_t::cancelled);
}

}  // namespace lci::core
