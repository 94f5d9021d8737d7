// Functions that peers call.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lci/rpc/library.hpp"
#include "lci/rpc/peer.hpp"

namespace lci::rpc {

/// Information about the call that is being executed: its caller. Passed to functions whose first parameter is a
/// `const context&`.
class context {
 public:
  peer caller() const { return peer::caller_of(*in_); }
  explicit context(detail::incoming& in) : in_(&in) {}

 private:
  detail::incoming* in_;
};

/// A call that is answered later. A function whose first parameter is a handle returns void; the handle then answers
/// the caller once, in any thread. If it is destroyed without an answer, the caller gets no_answer_error. Movable. One
/// thread at a time may use it. Views among the function's arguments are valid only until the function returns.
template <class R>
class handle {
 public:
  handle() = default;
  explicit handle(detail::incoming_ptr in) : engine_(detail::engine_of(*in)), in_(std::move(in)) {}
  explicit operator bool() const { return in_ != nullptr; }
  peer caller() const { return peer::caller_of(valid()); }

  /// Answers with a result; `h()` if R is void.
  template <class... T>
  void operator()(const T&... value) {
    static_assert(sizeof...(T) == (std::is_void_v<R> ? 0 : 1), "rpc: answer with one result, or with none for void");
    detail::incoming& in = valid();
    const detail::span_of_chars room = detail::room_of(in);
    writer w(room.data, room.size, false, detail::place_of(in));
    (codec<R>::write(w, value), ...);
    detail::answer(in, w);
    in_.reset();
  }
  /// Answers with an exception.
  void fail(const std::exception_ptr& thrown) {
    detail::answer(valid(), thrown);
    in_.reset();
  }
  template <class Exception>
  void fail(const Exception& e) {
    fail(std::make_exception_ptr(e));
  }

 private:
  detail::incoming& valid() const {
    if (in_ == nullptr) throw invalid_argument_error("rpc::handle: it has no call, or has answered it already");
    return *in_;
  }
  std::shared_ptr<detail::engine_core> engine_;  // must outlive the call
  detail::incoming_ptr in_;
};

namespace detail {

/// Parameter and result types of a callable: a function, a function pointer, or an object with one operator().
template <class F>
struct types_of : types_of<decltype(&F::operator())> {};
template <class R, class... A>
struct types_of<R(A...)> {
  using type = R(A...);
};
template <class R, class... A>
struct types_of<R (*)(A...)> : types_of<R(A...)> {};
template <class R, class... A>
struct types_of<R (*)(A...) noexcept> : types_of<R(A...)> {};
template <class R, class C, class... A>
struct types_of<R (C::*)(A...)> : types_of<R(A...)> {};
template <class R, class C, class... A>
struct types_of<R (C::*)(A...) const> : types_of<R(A...)> {};
template <class R, class C, class... A>
struct types_of<R (C::*)(A...) noexcept> : types_of<R(A...)> {};
template <class R, class C, class... A>
struct types_of<R (C::*)(A...) const noexcept> : types_of<R(A...)> {};

/// Properties that follow from a function's result type. The specialization for coroutines is in
/// lci/rpc/coroutine.hpp.
template <class Returned>
struct returned {
  using result = Returned;
  static constexpr bool is_coroutine = false;
};

enum class extra { none, context, handle };

/// The signature that callers use, without a `context` or `handle` parameter.
template <class Function>
struct shape_of;
template <class Returned, class... P>
struct shape_of<Returned(P...)> {
  using types = signature<typename returned<Returned>::result, P...>;
  using returned_type = returned<Returned>;
  using values = std::tuple<value_of<P>...>;
  static constexpr extra first = extra::none;
};
template <class Returned, class... P>
struct shape_of<Returned(const context&, P...)> : shape_of<Returned(P...)> {
  static constexpr extra first = extra::context;
};
template <class Returned, class R, class... P>
struct shape_of<Returned(handle<R>, P...)> {
  static_assert(std::is_void_v<Returned>, "rpc: a function with a handle answers through it, and returns void");
  using types = signature<R, P...>;
  using returned_type = returned<void>;
  using values = std::tuple<value_of<P>...>;
  using result = R;
  static constexpr extra first = extra::handle;
};

/// Decodes all arguments. Throws message_error if they can't be of these types.
template <class Values>
struct decoded;
template <class... V>
struct decoded<std::tuple<V...>> {
  explicit decoded(reader& r) : values{codec<V>::read(r)...} {  // braces evaluate from left to right
    if (r.left() != 0) throw_bad_message("there are more arguments than the function has parameters");
  }
  std::tuple<V...> values;
};

/// Executes functions that are not coroutines.
template <class F, class Shape>
class plain_handler final : public handler {
 public:
  explicit plain_handler(F f) : f_(std::move(f)) {}

  void execute(incoming* taken) noexcept override {
    incoming_ptr in(taken);
    reader r = arguments_of(*in);
    std::optional<decoded<typename Shape::values>> d;
    try {
      d.emplace(r);
    } catch (...) {
      return refuse(*in, std::current_exception());
    }
    try {
      call(in, d->values);
    } catch (...) {
      if (in != nullptr && !is_answered(*in)) answer(*in, std::current_exception());
    }
  }

 private:
  using result = typename Shape::types::result;

  template <class Values>
  void call(incoming_ptr& in, Values& values) {
    if constexpr (Shape::first == extra::handle) {
      handle<result> h(std::move(in));
      std::apply([&](auto&... v) { f_(std::move(h), std::move(v)...); }, values);
    } else if constexpr (Shape::first == extra::context) {
      const context c(*in);
      std::apply([&](auto&... v) { answer_with(*in, [&]() -> result { return f_(c, std::move(v)...); }); }, values);
    } else {
      std::apply([&](auto&... v) { answer_with(*in, [&]() -> result { return f_(std::move(v)...); }); }, values);
    }
  }
  template <class G>
  static void answer_with(incoming& in, G g) {
    const span_of_chars room = room_of(in);
    writer w(room.data, room.size, false, place_of(in));
    if constexpr (std::is_void_v<result>) {
      g();
    } else {
      codec<result>::write(w, g());
    }
    answer(in, w);
  }

  F f_;
};

/// Selects the class that executes functions of this shape.
template <class F, class Shape, bool is_coroutine>
struct handler_for {
  using type = plain_handler<F, Shape>;
};

/// Returns whether F can be called with a procedure's signature.
template <class Signature, class Shape>
constexpr bool is_same_signature = std::is_same_v<Signature, typename Shape::types::function_type>;

}  // namespace detail
}  // namespace lci::rpc
