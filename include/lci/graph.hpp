// Operations as nodes of a completion graph.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "lci/completion.hpp"
#include "lci/operations.hpp"

namespace lci {

namespace detail {

/// Throws resource_error for a node without memory.
[[noreturn]] LCI_API void throw_no_memory_for_node();

/// Allocates the value that a node owns. Throws resource_error.
template <class Value, class Op>
std::unique_ptr<Value> make_node_value(Op&& op) {
#if defined(__cpp_exceptions)
  try {
    return std::make_unique<Value>(std::forward<Op>(op));
  } catch (const std::bad_alloc&) {
    throw_no_memory_for_node();
  }
#else  // clang accepts no handler in a program compiled with -fno-exceptions
  std::unique_ptr<Value> value(new (std::nothrow) Value(std::forward<Op>(op)));
  if (!value) throw_no_memory_for_node();
  return value;
#endif
}

/// Transfers ownership of `value` to a new node; it is deleted together with the graph.
template <class Value>
graph_node_t graph_add_value(comp_t graph, graph_node_run_cb_t run, std::unique_ptr<Value> value) {
  const graph_node_free_cb_t free = [](void* p) { delete static_cast<Value*>(p); };
  const graph_node_t node = graph_add_node_x(graph, run).value(value.get()).free_cb(free)();
  (void)value.release();
  return node;
}

/// A collective as a node: the completion object of the collective completes the node.
template <class Functor>
class collective_node final : public comp_impl_t {
 public:
  explicit collective_node(Functor op) : op_(std::move(op)) { op_.comp(comp_t(this)); }
  void signal(status_t status) override { graph_node_mark_complete_x(node).status(status)(); }
  status_t start() {
    op_.call();
    return errorcode_t::posted;
  }
  graph_node_t node = nullptr;

 private:
  Functor op_;
};

// Detection of a functor's setters.
template <class Functor, class = void>
struct has_user_context : std::false_type {};
template <class Functor>
struct has_user_context<Functor, std::void_t<decltype(std::declval<Functor&>().user_context(nullptr))>>
    : std::true_type {};
template <class Functor, class = void>
struct has_local_comp : std::false_type {};
template <class Functor>
struct has_local_comp<Functor, std::void_t<decltype(std::declval<Functor&>().local_comp(comp_t()))>> : std::true_type {
};
template <class Functor, class = void>
struct has_comp : std::false_type {};
template <class Functor>
struct has_comp<Functor, std::void_t<decltype(std::declval<Functor&>().comp(comp_t()))>> : std::true_type {};

/// Calls an operation, and returns its result as a node's function does.
template <class Functor>
status_t call_node(Functor& op) {
  if constexpr (std::is_convertible_v<decltype(op()), status_t>) {
    return op();
  } else {
    static_cast<void>(op());
    return errorcode_t::done;
  }
}

}  // namespace detail

/// Adds an operation as a node: `op` is the functor that posts it, with all arguments set but
/// not called, e.g. `post_send_x(peer, buffer, size, tag, COMP_NULL)`. Its `local_comp` is set to the
/// graph and its `user_context` to the node, so that the end of the operation completes the node.
/// The graph owns a copy of the functor and may post it many times. Leave `allow_retry` at its
/// default, true: the graph posts again during progress(). Throws resource_error if there is no memory.
///
/// A collective operation, e.g. `barrier_x()`, can be a node as well; the library sets its `comp`.
///
/// So can any copyable functor of the program with `operator()()` and a setter `user_context(void*)`, which is
/// passed the node. It returns a status_t, errorcode_t or error_t: done, posted or retry (to be called
/// again); with another result type, or void, it is done. If it has posted and has no setter `local_comp(comp_t)`,
/// it completes the node itself: `comp_signal(graph, status_t(user_context))`.
template <class Functor>
graph_node_t graph_add_node_op(comp_t graph, Functor&& op) {
  using functor_t = std::decay_t<Functor>;
  if constexpr (detail::has_user_context<functor_t>::value) {
    auto value = detail::make_node_value<functor_t>(std::forward<Functor>(op));
    functor_t* post = value.get();
    const graph_node_run_cb_t run = [](void* p) { return detail::call_node(*static_cast<functor_t*>(p)); };
    const graph_node_t node = detail::graph_add_value(graph, run, std::move(value));
    if constexpr (detail::has_local_comp<functor_t>::value) static_cast<void>(post->local_comp(graph));
    static_cast<void>(post->user_context(node));
    return node;
  } else {
    static_assert(detail::has_comp<functor_t>::value,
                  "a node must be a functor with a setter user_context(void*), or a collective");
    using node_t = detail::collective_node<functor_t>;
    auto value = detail::make_node_value<node_t>(std::forward<Functor>(op));
    node_t* collective = value.get();
    const graph_node_run_cb_t run = [](void* p) { return static_cast<node_t*>(p)->start(); };
    return collective->node = detail::graph_add_value(graph, run, std::move(value));
  }
}

}  // namespace lci
