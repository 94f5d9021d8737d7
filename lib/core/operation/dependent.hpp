// Internal completion objects that stand in for a user's while several operations of a device are outstanding.
#pragma once

#include "lci/completion.hpp"

namespace lci::core {

/// What to signal for an operation that was still outstanding when its device was freed.
struct unfinished {
  comp_impl_t* comp;  // null: there is none, or it has been signalled
  status_t status;
};

/// Deletes itself when its operations have ended; if the device is freed before, the device deletes it.
class dependent : public comp_impl_t {
 public:
  /// Called when the operations will never complete. Returns what to signal; the caller then deletes this object.
  virtual unfinished give_up() = 0;
};

}  // namespace lci::core
