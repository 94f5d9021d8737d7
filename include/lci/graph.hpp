// Operations as nodes of a completion graph.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "lci/completion.hpp"
#include "lci/operations.hpp"

namespace lci {

namespace detail {

/// Hands `value` over to a new node, which deletes it together with the graph.
template <class Value>
graph_node_t graph_add_value(comp_t graph, graph_node_run_cb_t run, std::unique_ptr<Value> value) {
  const graph_node_free_cb_t free = [](void* p) { delete static_cast<Value*>(p); };
  const graph_node_t node = graph_add_node_x(graph, run).value(value.get()).free_cb(free)();
  value.release();
  return node;
}

/// A collective as a node: its completion object ends the node.
template <class Functor>
class collective_node final : public comp_impl_t {
 public:
  explicit collective_node(Functor op) : op_(std::move(op)) { op_.comp(comp_t(this)); }
  void signal(status_t status) override { graph_node_mark_complete_x(node).status(status)(); }
  status_t start() {
    op_.call();
    return errorcode_t::posted;
  }
  graph_node_t node;

 private:
  Functor op_;
};

}  // namespace detail

/// Adds an operation as a node: `op` is the functor that would post it, with all arguments set but
/// not called, e.g. `post_send_x(peer, buffer, size, tag, COMP_NULL)`. Its `local_comp` becomes the
/// graph and its `user_context` the node, so that the end of the operation is the end of the node.
/// The graph keeps a copy of the functor and may post it many times. `allow_retry(true)`, the
/// default, is right: the graph tries again by itself during progress().
///
/// A collective operation, e.g. `barrier_x()`, becomes a node likewise; its `comp` is the library's.
template <class Functor>
graph_node_t graph_add_node_op(comp_t graph, Functor&& op) {
  using functor_t = std::decay_t<Functor>;
  using result_t = decltype(std::declval<functor_t&>().call());
  if constexpr (std::is_void_v<result_t>) {
    using node_t = detail::collective_node<functor_t>;
    auto value = std::make_unique<node_t>(std::forward<Functor>(op));
    node_t* collective = value.get();
    const graph_node_run_cb_t run = [](void* p) { return static_cast<node_t*>(p)->start(); };
    return collective->node = detail::graph_add_value(graph, run, std::move(value));
  } else {
    static_assert(std::is_same_v<result_t, status_t>,
                  "a node must be an operation that returns a status_t, or a collective");
    auto value = std::make_unique<functor_t>(std::forward<Functor>(op));
    functor_t* post = value.get();
    const graph_node_run_cb_t run = [](void* p) { return static_cast<functor_t*>(p)->call(); };
    const graph_node_t node = detail::graph_add_value(graph, run, std::move(value));
    post->local_comp(graph).user_context(node.p_impl);
    return node;
  }
}

}  // namespace lci
