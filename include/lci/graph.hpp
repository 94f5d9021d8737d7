// Operations as nodes of a completion graph.
#pragma once

#include <type_traits>
#include <utility>

#include "lci/operations.hpp"

namespace lci {

/// Adds an operation as a node: `op` is the functor that would post it, with all arguments set but
/// not called, e.g. `post_send_x(peer, buffer, size, tag, COMP_NULL)`. Its `local_comp` becomes the
/// graph and its `user_context` the node, so that the end of the operation is the end of the node.
/// The graph keeps a copy of the functor and may post it many times. `allow_retry(true)`, the
/// default, is right: the graph tries again by itself during progress().
template <class Functor>
graph_node_t graph_add_node_op(comp_t graph, Functor&& op) {
  using functor_t = std::decay_t<Functor>;
  static_assert(std::is_same_v<decltype(std::declval<functor_t&>().call()), status_t>,
                "a node must be an operation that returns a status_t");
  auto* copy = new functor_t(std::forward<Functor>(op));
  const graph_node_run_cb_t run = [](void* value) -> status_t {
    return static_cast<functor_t*>(value)->call();
  };
  const graph_node_free_cb_t free = [](void* value) { delete static_cast<functor_t*>(value); };
  graph_node_t node;
  try {
    node = graph_add_node_x(graph, run).value(copy).free_cb(free)();
  } catch (...) {
    delete copy;
    throw;
  }
  copy->local_comp(graph).user_context(node.p_impl);
  return node;
}

}  // namespace lci
