// Calls of peers' functions.
#pragma once

#include <chrono>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lci/graph.hpp"
#include "lci/rpc/arguments.hpp"
#include "lci/rpc/future.hpp"
#include "lci/rpc/peer.hpp"

namespace lci::rpc {

template <class Signature>
class function;

/// A call as a node of a completion graph of the core, and its result:
///
///   auto node = open.call_x(server, "a", 1).node();
///   lci::graph_add_node_op(graph, node);  // the graph posts the call, and may do so many times
///   ... start the graph, and wait for it ...
///   int fd = node.get();
///
/// The node completes when the call ends, also if it fails; then get() throws the failure. Copies share the call. Some
/// thread must make progress on the engine. Arguments are copied.
template <class R>
class call_node {
 public:
  call_node& user_context(void* node) {
    shared_->node = node;
    return *this;
  }
  lci::status_t operator()() const {
    shared_->result = shared_->post();
    shared_->waits = true;
    if (detail::notify(*shared_->result.call_, *shared_)) return errorcode_t::posted;
    shared_->waits = false;
    return errorcode_t::done;
  }
  /// The result of the latest execution of the node. Throws the call's failure.
  R get() const { return shared_->result.get(); }

 private:
  template <class, class...>
  friend class prepared_call;
  struct shared_state : detail::continuation {
    virtual ~shared_state() {
      if (waits) detail::withdraw(*result.call_, *this);
    }
    virtual future<R> post() = 0;
    void* node = nullptr;
    future<R> result;
    bool waits = false;  // for the call; the continuation has not run
  };
  template <class Call>
  struct state_of final : shared_state {
    explicit state_of(const Call& c) : call(c) {
      this->run = [](detail::continuation* c2) {
        auto* self = static_cast<shared_state*>(c2);
        self->waits = false;
        graph_node_mark_complete(static_cast<graph_node_t>(self->node));
      };
    }
    future<R> post() override { return call.post_copy(call.engine_); }
    const Call call;
  };
  explicit call_node(std::shared_ptr<shared_state> s) : shared_(std::move(s)) {}

  std::shared_ptr<shared_state> shared_;
};

/// A call with its arguments, which operator() posts. Owns arguments that were passed as rvalues. Refers to arguments
/// that were passed as lvalues, until operator() has copied them into the message. Thread-bound.
template <class R, class Parameters, class... Stored>
class prepared_call<R, Parameters, Stored...> {
 public:
  /// Ends the call with timeout_error if no result has arrived within this time after operator(). Default: no limit.
  template <class Rep, class Period>
  prepared_call& deadline(std::chrono::duration<Rep, Period> d) & {
    deadline_ = detail::nanoseconds_of(d);
    return *this;
  }
  template <class Rep, class Period>
  prepared_call&& deadline(std::chrono::duration<Rep, Period> d) && {
    return std::move(deadline(d));
  }
  /// Posts the call, which can be posted again: copies all arguments. Throws what encoders throw, and
  /// lci::invalid_argument_error for misuse; the future throws all other failures.
  future<R> operator()() & { return post_copy(engine_); }
  /// Posts a call that is an rvalue, as in `f.call_x(...)()`. It can't be posted again, so large arguments that were
  /// passed as rvalues are moved, not copied. Throws as the overload above does.
  future<R> operator()() && { return has_large() ? post_large(std::move(engine_)) : post_copy(std::move(engine_)); }
  /// The call as a node of a completion graph. Copies all arguments.
  call_node<R> node() const {
    using owning = prepared_call<R, Parameters, std::decay_t<Stored>...>;
    using state = typename call_node<R>::template state_of<owning>;
    return call_node<R>(std::make_shared<state>(
        owning(engine_, what_, whom_, std::tuple<std::decay_t<Stored>...>(arguments_), deadline_)));
  }

 private:
  template <class>
  friend class function;
  template <class>
  friend class call_node;
  template <class, class...>
  friend class prepared_call;

  /// `whom`: the peer's address, which owns no memory.
  prepared_call(std::shared_ptr<detail::engine_core> e, const detail::remote_function* f, void* whom,
                std::tuple<Stored...>&& arguments, int64_t deadline = detail::no_limit)
      : engine_(std::move(e)), what_(f), whom_(whom), arguments_(std::move(arguments)), deadline_(deadline) {}
  bool has_large() const {
    return std::apply(
        [](const auto&... a) {
          return ((!std::is_reference_v<Stored> && detail::block_size(a) >= writer::borrow_from) || ...);
        },
        arguments_);
  }
  /// `e` is the engine, which the future shares.
  future<R> post_large(std::shared_ptr<detail::engine_core> e) {
    detail::call_ptr c(detail::begin_call(*e, *what_, whom_));
    auto owned = std::make_unique<detail::kept_arguments<std::tuple<Stored...>>>(std::move(arguments_));
    const detail::span_of_chars room = detail::room_of(*c);
    writer w(room.data, room.size, !(std::is_reference_v<Stored> || ...), {e.get(), nullptr});
    Parameters::write_tuple(w, owned->values);
    detail::post(*c, w, deadline_, std::move(owned));
    return {std::move(e), std::move(c)};
  }
  future<R> post_copy(std::shared_ptr<detail::engine_core> e) const {
    detail::call_ptr c(detail::begin_call(*e, *what_, whom_));
    const detail::span_of_chars room = detail::room_of(*c);
    writer w(room.data, room.size, false, {e.get(), nullptr});
    Parameters::write_tuple(w, arguments_);
    detail::post(*c, w, deadline_, nullptr);
    return {std::move(e), std::move(c)};
  }

  std::shared_ptr<detail::engine_core> engine_;
  const detail::remote_function* what_;
  void* whom_;
  std::tuple<Stored...> arguments_;
  int64_t deadline_;
};

/// A function that peers have defined, identified by its name. Created by engine::define() and engine::declare(). A
/// value. Thread-safe except for assignment. May outlive its engine; then calls throw.
template <class R, class... P>
class function<R(P...)> {
  using parameters = detail::parameters<P...>;

  /// A function and the peer that executes it.
  class at_peer {
   public:
    /// Sets the time after which calls by this object end with timeout_error. Default: no limit.
    template <class Rep, class Period>
    at_peer& deadline(std::chrono::duration<Rep, Period> d) {
      limit_ = detail::nanoseconds_of(d);
      return *this;
    }
    /// Calls the function, makes progress until the peer has answered, and returns the result. Throws rpc::error, or
    /// the function's exception. Does not copy large arguments.
    template <class... A>
    R operator()(const A&... a) const {
      static_assert(parameters::template check<std::decay_t<const A&>...>());
      detail::engine_core& e = *function_.engine_;
      const detail::call_ptr c(detail::begin_call(e, *function_.what_, whom_.address_for(e)));
      const detail::span_of_chars room = detail::room_of(*c);
      writer w(room.data, room.size, true, {&e, nullptr});
      parameters::write(w, static_cast<const std::decay_t<const A&>&>(a)...);
      if (!detail::post_and_wait(*c, w, limit_)) detail::cancel(*c, true);
      return detail::take_result<R>(*c);
    }

   private:
    friend class function;
    at_peer(const function& f, const peer& whom) : function_(f), whom_(whom) {}
    function function_;
    peer whom_;
    int64_t limit_ = detail::no_limit;
  };

 public:
  /// No function; calls throw lci::invalid_argument_error.
  function() = default;
  explicit operator bool() const { return what_ != nullptr; }
  const std::string& name() const { return valid().name; }

  /// A blocking call: `open.on(server)("a", 1)`.
  at_peer on(const peer& whom) const {
    valid();
    return {*this, whom};
  }
  /// A call with a future: `open.call_x(server, "a", 1).deadline(50ms)()` returns a future<R>.
  template <class... A>
  prepared_call<R, parameters, A...> call_x(const peer& whom, A&&... a) const {
    static_assert(parameters::template check<std::decay_t<A>...>());
    const detail::remote_function& f = valid();
    return {engine_, &f, whom.address_for(*engine_), std::tuple<A...>(std::forward<A>(a)...)};
  }

 private:
  friend class engine;
  function(std::shared_ptr<detail::engine_core> e, const detail::remote_function& f)
      : engine_(std::move(e)), what_(&f) {}
  const detail::remote_function& valid() const {
    if (what_ == nullptr)
      throw invalid_argument_error("rpc::function: it is none: use what define() or declare() returned");
    return *what_;
  }

  std::shared_ptr<detail::engine_core> engine_;
  const detail::remote_function* what_ = nullptr;
};

}  // namespace lci::rpc
