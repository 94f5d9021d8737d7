// Functions as coroutines, and co_await of calls. C++20; see docs/guide/rpc.md.
#pragma once

#if __cplusplus < 202002L
#error "lci/rpc/coroutine.hpp needs C++20: compile with -std=c++20, or include lci/rpc.hpp alone"
#endif

#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include "lci/cpp20.hpp"
#include "lci/rpc.hpp"

namespace lci::rpc {

namespace detail {

/// Awaits a future. The engine's thread that completes the call resumes the coroutine.
template <class R>
class call_awaiter : private continuation {
 public:
  explicit call_awaiter(future<R> f) : future_(std::move(f)) {}
  call_awaiter(const call_awaiter&) = delete;
  call_awaiter& operator=(const call_awaiter&) = delete;
  ~call_awaiter() {
    if (waiting_) withdraw(*future_.call_, *this);  // The frame is destroyed while the call is outstanding.
  }

  bool await_ready() const { return future_.is_ready(); }
  bool await_suspend(std::coroutine_handle<> handle) {
    waiting_ = handle;
    run = [](continuation* c) { std::exchange(static_cast<call_awaiter*>(c)->waiting_, nullptr).resume(); };
    if (notify(*future_.call_, *this)) return true;
    waiting_ = nullptr;
    return false;
  }
  R await_resume() { return future_.get(); }

 private:
  future<R> future_;
  std::coroutine_handle<> waiting_;
};

/// Awaits a future in a lci::task. The task's scheduler resumes it.
template <class R, class Queue>
class queued_call_awaiter : private continuation, private lci::detail::pending_operation {
 public:
  queued_call_awaiter(future<R> f, Queue& q) : future_(std::move(f)), queue_(q) {}
  queued_call_awaiter(const queued_call_awaiter&) = delete;
  queued_call_awaiter& operator=(const queued_call_awaiter&) = delete;
  ~queued_call_awaiter() {
    if (waits_) withdraw(*future_.call_, *this);  // The frame is destroyed while the call is outstanding.
  }

  bool await_ready() const { return future_.is_ready(); }
  bool await_suspend(std::coroutine_handle<> handle) {
    coroutine_ = {handle, 1};
    waiting = &coroutine_;
    run = [](continuation* c) {
      auto* self = static_cast<queued_call_awaiter*>(c);
      self->waits_ = false;
      comp_signal(self->queue_.ended, status_t(static_cast<lci::detail::pending_operation*>(self)));
    };
    waits_ = true;
    if (notify(*future_.call_, *this)) return true;
    waits_ = false;
    return false;
  }
  R await_resume() { return future_.get(); }

 private:
  future<R> future_;
  Queue& queue_;
  bool waits_ = false;  // for the call; its continuation has not run
  lci::detail::waiting_coroutine coroutine_;
};

class coroutine_promise_base : public lci::detail::promise_outcome {
 public:
  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      return handle.promise().parent_;
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

  std::coroutine_handle<> parent_ = std::noop_coroutine();
};

}  // namespace detail

/// `co_await open.call_x(server, "a", 1)()`: returns the call's result, or throws its failure.
template <class R>
auto operator co_await(future<R>&& f) {
  if (!f) throw invalid_argument_error("rpc::future: it has no call, or its result was taken already");
  return detail::call_awaiter<R>(std::move(f));
}

/// The type of a coroutine that peers call, or that such a coroutine awaits. It may `co_await` futures and other
/// coroutines; meanwhile the thread that executes it serves other calls. Owns its frame. It starts when it is awaited
/// or executed. Threads that make progress on the engine whose call it awaits resume it. The parameters of a coroutine
/// that peers call, including views, are valid until it ends.
template <class T = void>
class [[nodiscard]] coroutine {
 public:
  class promise_type;
  using handle_t = std::coroutine_handle<promise_type>;

  explicit coroutine(handle_t h) : frame_(h) {}

  auto operator co_await() const { return awaiter{frame_.get()}; }

 private:
  struct awaiter {
    handle_t child;
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) const noexcept {
      child.promise().parent_ = parent;
      return child;
    }
    T await_resume() const { return child.promise().result(); }
  };
  lci::detail::coroutine_frame<promise_type> frame_;
};

template <class T>
class coroutine<T>::promise_type : public lci::detail::promise_result<T, detail::coroutine_promise_base> {
 public:
  coroutine<T> get_return_object() { return coroutine<T>(handle_t::from_promise(*this)); }
};

namespace detail {

template <class T>
struct returned<coroutine<T>> {
  using result = T;
  static constexpr bool is_coroutine = true;
};

/// A coroutine that starts at once, that no other coroutine awaits, and that frees itself.
struct detached {
  struct promise_type {
    detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

/// Executes functions that are coroutines. A coroutine of the library, run(), holds their arguments until they end.
template <class F, class Shape>
class coroutine_handler final : public handler {
 public:
  explicit coroutine_handler(F f) : f_(std::make_shared<F>(std::move(f))) {}
  void execute(incoming* in) noexcept override {
    kept_t kept{f_, engine_of(*in), incoming_ptr(in)};
    try {
      run(kept);
    } catch (const std::bad_alloc&) {  // there is no memory for its frame
      answer(*kept.in, std::current_exception());
    }
  }

 private:
  using result = typename Shape::types::result;

  // What the coroutine keeps until it ends, which may be after its engine has been closed, and has freed its functions:
  // the function, whose captures the body uses, and the engine, which owns the call. One object, since the call must be
  // released first, and compilers destroy a coroutine's parameters in different orders.
  struct kept_t {
    std::shared_ptr<F> f;
    std::shared_ptr<engine_core> engine;
    incoming_ptr in;
  };
  static detached run(kept_t& given) {
    kept_t kept = std::move(given);
    incoming_ptr& in = kept.in;
    reader r = arguments_of(*in);
    std::optional<decoded<typename Shape::values>> d;
    try {
      d.emplace(r);
    } catch (...) {
      refuse(*in, std::current_exception());
      co_return;
    }
    const context c(*in);
    std::exception_ptr thrown;
    try {
      const span_of_chars room = room_of(*in);
      writer w(room.data, room.size, false, place_of(*in));
      coroutine<result> body = begin(*kept.f, c, d->values);
      if constexpr (std::is_void_v<result>) {
        co_await body;
      } else {
        codec<result>::write(w, co_await body);
      }
      answer(*in, w);
    } catch (...) {
      thrown = std::current_exception();
    }
    if (thrown != nullptr) answer(*in, thrown);
  }
  template <class Values>
  static coroutine<result> begin(F& f, const context& c, Values& values) {
    return std::apply(
        [&](auto&... v) {
          if constexpr (Shape::first == extra::context) {
            return f(c, std::move(v)...);
          } else {
            return f(std::move(v)...);
          }
        },
        values);
  }

  const std::shared_ptr<F> f_;
};

template <class F, class Shape>
struct handler_for<F, Shape, true> {
  using type = coroutine_handler<F, Shape>;
};

}  // namespace detail
}  // namespace lci::rpc
