#include "lib/core/checking/checked_comp.hpp"

#include "lib/base/check.hpp"

namespace lci::core {

void throw_wrong_comp(const char* operation, const comp_impl_t* comp, const char* expected) {
  const char* kind = "COMP_NULL or another constant";
  if (detail::is_object(comp)) {
    switch (comp->attr.comp_type) {
      case attr_comp_type_t::sync:
        kind = "a synchronizer";
        break;
      case attr_comp_type_t::counter:
        kind = "a counter";
        break;
      case attr_comp_type_t::cq:
        kind = "a completion queue";
        break;
      case attr_comp_type_t::handler:
        kind = "a handler";
        break;
      case attr_comp_type_t::graph:
        kind = "a graph";
        break;
      case attr_comp_type_t::custom:
        kind = "an object of the user";
        break;
    }
  }
  throw_invalid(operation, "comp", kind, expected);
}

void refuse_graph(const char* operation, const comp_impl_t* comp) {
  if (comp->attr.comp_type == attr_comp_type_t::graph)
    throw_invalid(operation, "comp", "a graph", "another kind of object",
                  "what arrives names no node of a graph: register a handler, which calls graph_node_mark_complete()");
}

void require_delivery_outside(const char* operation, const comp_attr_t& attr) {
  if (attr.am_in_place)
    throw_invalid(operation, "am_in_place", "true", "false",
                  "only handlers and objects of the user can read a message in place");
}

}  // namespace lci::core
