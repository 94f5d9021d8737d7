// Converts a handle to the type of completion object that an operation needs.
#pragma once

#include "lci/completion.hpp"
#include "lci/handles.hpp"
#include "lib/base/cpu.hpp"

namespace lci::core {

[[noreturn]] LCI_COLD void throw_wrong_comp(const char* operation, const comp_impl_t* comp, const char* expected);

/// Throws invalid_argument_error if `comp` is not of that type.
template <class Comp>
Comp& checked(comp_t comp, attr_comp_type_t type, const char* operation, const char* expected) {
  comp_impl_t* impl = comp.p_impl;
  if (LCI_UNLIKELY(!detail::is_object(impl)) || LCI_UNLIKELY(impl->attr.comp_type != type))
    throw_wrong_comp(operation, impl, expected);
  return *static_cast<Comp*>(impl);
}

/// Throws invalid_argument_error for a graph, which would take the status of an arrival for that of one of its nodes.
void refuse_graph(const char* operation, const comp_impl_t* comp);

/// For completion objects that store statuses, e.g. queues: throws invalid_argument_error if `attr.am_in_place` is set,
/// since a message in place is valid only while a handler or a custom object is being signalled.
void require_delivery_outside(const char* operation, const comp_attr_t& attr);

}  // namespace lci::core
