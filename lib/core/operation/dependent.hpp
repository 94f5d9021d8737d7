// Completion objects of the core's own that stand for one of the user's while operations of a device are under way.
#pragma once

#include "lci/completion.hpp"

namespace lci::core {

/// What an operation's user is told that the network has not ended when its device was freed.
struct unfinished {
  comp_impl_t* comp;  // null: nobody waits, or was told before
  status_t status;
};

/// Owned by itself until its operations have ended, or by the device if that is freed before.
class dependent : public comp_impl_t {
 public:
  /// The operations will not end any more: whom to tell of it. The caller deletes this object next.
  virtual unfinished give_up() = 0;
};

}  // namespace lci::core
