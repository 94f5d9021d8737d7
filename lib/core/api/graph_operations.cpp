// Operations on completion graphs.
#include <string>

#include "generated/core_operations.hpp"
#include "lci/graph.hpp"
#include "lib/base/check.hpp"
#include "lib/base/memory.hpp"
#include "lib/comp/graph.hpp"
#include "lib/core/checking/checked_comp.hpp"
#include "lib/core/device/wait.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

namespace {

graph& checked_graph(comp_t comp, const char* operation) {
  return checked<graph>(comp, attr_comp_type_t::graph, operation, "a graph (alloc_graph)");
}

graph_node* node_of(graph& g, graph_node_t node) {
  if (node == GRAPH_START) return g.start_node();
  if (node == GRAPH_END) return g.end_node();
  if (!detail::is_object(node))
    throw_invalid("graph_add_edge", "src or dst", "empty", "a node, GRAPH_START or GRAPH_END");
  return static_cast<graph_node*>(node);
}

}  // namespace

comp_t alloc_graph(alloc_graph_args& a) {
  require_delivery_outside("alloc_graph", a.attr);
  comp_impl_t* completion = a.comp.p_impl;
  if (completion && !detail::is_object(completion))
    throw_wrong_comp("alloc_graph", completion, "a completion object, or COMP_NULL");
  deferred_queue* deferred = a.runtime.is_empty() ? nullptr : &a.runtime.p_impl->deferred;
  return new graph(a.attr, completion, deferred, a.user_context);
}

graph_node_t graph_add_node(graph_add_node_args& a) {
  return checked_graph(a.comp, "graph_add_node").add_node(a.fn, a.value, a.free_cb);
}

void graph_add_edge(graph_add_edge_args& a) {
  graph& g = checked_graph(a.comp, "graph_add_edge");
  g.add_edge(node_of(g, a.src), node_of(g, a.dst), a.fn);
}

void graph_node_mark_complete(graph_node_mark_complete_args& a) {
  if (a.node == GRAPH_START || a.node == GRAPH_END)
    throw_invalid("graph_node_mark_complete", "node", "GRAPH_START or GRAPH_END", "a node of the user");
  if (!detail::is_object(a.node)) throw_invalid("graph_node_mark_complete", "node", "empty", "a node");
  status_t status = a.status;
  if (status.is_retry()) status.set_done();  // a default-constructed status
  graph::mark_complete(static_cast<graph_node*>(a.node), status);
}

void graph_start(graph_start_args& a) { checked_graph(a.comp, "graph_start").start(); }

status_t graph_test(graph_test_args& a) { return checked_graph(a.comp, "graph_test").test(); }

status_t graph_wait_for(graph_wait_for_args& a) {
  graph& g = checked_graph(a.comp, "graph_wait_for");
  if (!g.started())
    throw_invalid("graph_wait_for", "comp", "a graph that was never started", "a started one", "call graph_start()");
  status_t status;
  wait_until(
      policy_of("graph_wait_for", a), [&] { return !(status = g.test()).is_retry(); },
      [&](int64_t ns) { g.sleep(ns); });
  return status;
}

}  // namespace lci::core

namespace lci::detail {

void throw_no_memory_for_node() { throw_no_memory("graph_add_node_op"); }

}  // namespace lci::detail
