// What the coroutine types of LCI share: lci::task and lci::rpc::coroutine.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace lci::detail {

/// The part of a promise that stores an exception. The coroutine starts suspended.
class promise_outcome {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }
  void unhandled_exception() { thrown = std::current_exception(); }
  void rethrow() const {
    if (thrown) std::rethrow_exception(thrown);
  }

  std::exception_ptr thrown;
};

/// The part of a promise that stores the result of a coroutine. `Base` derives from promise_outcome.
template <class T, class Base>
class promise_result : public Base {
 public:
  template <class Value>
  void return_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
  }
  /// The result of a coroutine that has ended, or its exception.
  T result() {
    this->rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};
template <class Base>
class promise_result<void, Base> : public Base {
 public:
  void return_void() const noexcept {}
  void result() const { this->rethrow(); }
};

/// Owns a coroutine's frame, or none. Movable. Thread-bound.
template <class Promise>
class coroutine_frame {
 public:
  using handle_t = std::coroutine_handle<Promise>;

  explicit coroutine_frame(handle_t handle) : handle_(handle) {}
  coroutine_frame(coroutine_frame&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  coroutine_frame& operator=(coroutine_frame&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~coroutine_frame() {
    if (handle_) handle_.destroy();
  }

  handle_t get() const noexcept { return handle_; }
  /// Gives up ownership.
  [[nodiscard]] handle_t release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  handle_t handle_;
};

}  // namespace lci::detail
