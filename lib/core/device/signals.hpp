// Signals of completion objects where a handler must not be entered at once.
#pragma once

#include "lci/completion.hpp"
#include "lci/operations.hpp"

namespace lci::core {

class device;

/// Returns whether signal() of such an object runs the program's code. That may post, and what it throws comes from
/// there: the status has been delivered. Of other objects an exception says that the status could not be kept.
inline bool may_post(attr_comp_type_t type) {
  return type != attr_comp_type_t::cq && type != attr_comp_type_t::sync && type != attr_comp_type_t::counter;
}

/// Signals an operation that completes within its post. Objects that may post (handlers) are not entered
/// recursively: inside handlers and progress() their signal is deferred.
void signal_from_post(device& d, comp_impl_t* comp, const status_t& status);
/// The same where no user code may run: objects that may post are signalled by a later progress().
void signal_later(device& d, comp_impl_t* comp, const status_t& status);

}  // namespace lci::core
