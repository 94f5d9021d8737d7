// Coroutines that await operations.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include "lci/cpp20/pending.hpp"
#include "lci/cpp20/promise.hpp"

namespace lci {

template <class T>
class task;

namespace detail {

class task_promise_base;

/// The part of a scheduler that tasks use.
class task_queue : public operation_queue {
 public:
  /// Called when a spawned task has ended; destroys its coroutine.
  virtual void over(task_promise_base& promise, std::coroutine_handle<> handle) = 0;

 protected:
  ~task_queue() = default;
};

class task_promise_base : public promise_outcome {
 public:
  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      task_promise_base& promise = handle.promise();
      if (promise.parent != nullptr) return promise.parent;
      promise.scheduler->over(promise, handle);
      return std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  final_awaiter final_suspend() const noexcept { return {}; }

  // A task may await operations as functors, other tasks, and any other awaitable.
  template <class Op>
  requires posted_operation<std::decay_t<Op>>
  auto await_transform(Op&& op) { return operation_awaiter<std::decay_t<Op>>(*scheduler, std::forward<Op>(op)); }
  template <class Op>
  requires collective_operation<std::decay_t<Op>>
  auto await_transform(Op&& op) { return collective_awaiter<std::decay_t<Op>>(*scheduler, std::forward<Op>(op)); }
  template <class Other>
  requires(!posted_operation<std::decay_t<Other>> && !collective_operation<std::decay_t<Other>>) decltype(auto)
      await_transform(Other&& other) {
    if constexpr (requires { std::forward<Other>(other).on(*scheduler); })
      return std::forward<Other>(other).on(*scheduler);
    else
      return std::forward<Other>(other);
  }

  task_queue* scheduler = nullptr;    // set before the coroutine begins
  std::coroutine_handle<> parent;     // the task that awaits this one; null if it was spawned
  task_promise_base* next = nullptr;  // in the list of tasks spawned and not begun
  std::coroutine_handle<> self;       // of a spawned task
};

template <class T>
class task_promise final : public promise_result<T, task_promise_base> {
 public:
  task<T> get_return_object();
};

}  // namespace detail

/// A coroutine that may `co_await` any functor that posts (`co_await post_send_x(...)`, with COMP_NULL
/// in place of the completion object), any collective operation, and other tasks. Owns its coroutine frame until it is
/// spawned. It begins when it is awaited, or when the scheduler that it was spawned on runs; from then on only that
/// scheduler's thread may use it. Its exception is rethrown where it is awaited, or by the scheduler's run() or poll().
///
/// The frame stores copies of a coroutine's arguments, but not what references refer to, nor the
/// captures of a lambda: pass by value what might be freed before the coroutine ends.
template <class T = void>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using handle_t = std::coroutine_handle<promise_type>;

  explicit task(handle_t handle) : frame_(handle) {}

  /// Starts the task; the awaiting task resumes with its result.
  auto operator co_await() && { return awaiter{frame_.get()}; }

  /// For schedulers: transfers ownership of the coroutine to the caller.
  [[nodiscard]] handle_t release() noexcept { return frame_.release(); }

 private:
  struct awaiter {
    handle_t child;
    bool await_ready() const noexcept { return false; }
    template <class Parent>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Parent> parent) const noexcept {
      static_assert(std::is_base_of_v<detail::task_promise_base, Parent>,
                    "a task is awaited by tasks, or spawned on a scheduler");
      child.promise().scheduler = parent.promise().scheduler;
      child.promise().parent = parent;
      return child;
    }
    T await_resume() const { return child.promise().result(); }
  };

  detail::coroutine_frame<promise_type> frame_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

}  // namespace detail
}  // namespace lci
