// Operations that a coroutine awaits, stored in its frame.
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include "lci/completion.hpp"
#include "lci/operations.hpp"

namespace lci {

/// A functor whose call posts an operation and returns its status.
template <class Op>
concept posted_operation = std::is_copy_constructible_v<Op> && requires(Op& op) {
  { op.call() } -> std::same_as<status_t>;
  op.local_comp(comp_t()).user_context(nullptr);
};

/// A functor whose call starts a collective operation.
template <class Op>
concept collective_operation = std::is_copy_constructible_v<Op> && requires(Op& op) {
  { op.call() } -> std::same_as<void>;
  op.comp(comp_t()).endpoint(endpoint_t());
};

namespace detail {

/// A FIFO queue of objects with a member `next`. Does not own them. Allocates no memory. Not thread-safe.
template <class T>
class intrusive_queue {
 public:
  bool empty() const { return first_ == nullptr; }
  void push(T* item) {
    item->next = nullptr;
    (empty() ? first_ : last_->next) = item;
    last_ = item;
  }
  T* pop() { return std::exchange(first_, first_->next); }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;  // valid if first_ is not null
};

/// A coroutine and the number of operations that it still waits for.
struct waiting_coroutine {
  std::coroutine_handle<> handle;
  size_t left = 0;
};

/// One operation. Used by the scheduler's thread only.
struct pending_operation {
  /// Posts the operation, first or again; sets `status`, or `thrown` if the post throws.
  void (*post)(pending_operation* self) = nullptr;
  waiting_coroutine* waiting = nullptr;
  pending_operation* next = nullptr;  // in the list of posts that returned retry
  status_t status;
  std::exception_ptr thrown;
};

/// The part of a scheduler that operations use.
class operation_queue {
 public:
  /// Posts `p`. True if it has ended; else the scheduler notifies `p.waiting` of its end.
  bool begin(pending_operation& p) {
    p.post(&p);
    if (p.thrown != nullptr || p.status.is_done()) return true;
    ++p.waiting->left;
    if (p.status.is_retry()) refused.push(&p);
    return false;
  }

  device_t device;
  comp_t ended;  // a completion queue
  intrusive_queue<pending_operation> refused;
};

inline void check(const status_t& status, device_t device, runtime_t runtime) {
  if (status.error.errorcode >= errorcode_t::fatal) check_status_x(status).device(device).runtime(runtime)();
}

/// The awaiter of `co_await post_..._x(...)`.
template <posted_operation Op>
class operation_awaiter : private pending_operation {
 public:
  operation_awaiter(operation_queue& queue, Op op) : queue_(queue), op_(std::move(op)) {
    if (op_.args().device.is_empty()) op_.device(queue.device);
    user_context_ = op_.args().user_context;
    post = [](pending_operation* p) {
      auto* self = static_cast<operation_awaiter*>(p);
      try {
        self->status = self->op_.call();
      } catch (...) {
        self->thrown = std::current_exception();
      }
    };
  }
  /// An object must not be moved after it was awaited: the operation refers to it.
  operation_awaiter(operation_awaiter&&) = default;

  bool await_ready() { return begin(coroutine_); }
  void await_suspend(std::coroutine_handle<> handle) { coroutine_.handle = handle; }
  /// The status of the operation. Throws the exception of the post, or that of check_status().
  status_t await_resume() {
    if (thrown != nullptr) std::rethrow_exception(thrown);
    status.user_context = user_context_;
    check(status, op_.args().device, op_.args().runtime);
    return status;
  }

  /// For when_all(): posts the operation as one of several that a coroutine waits for.
  bool begin(waiting_coroutine& coroutine) {
    waiting = &coroutine;
    op_.local_comp(queue_.ended).user_context(static_cast<pending_operation*>(this));
    return queue_.begin(*this);
  }

 private:
  operation_queue& queue_;
  Op op_;
  void* user_context_;
  waiting_coroutine coroutine_;
};

/// The awaiter of a collective operation. Collectives have no user context, so the awaiter is itself the completion
/// object: the thread that finds the end signals it, and it forwards the status to the scheduler's queue.
template <collective_operation Op>
class collective_awaiter final : private pending_operation, private comp_impl_t {
 public:
  collective_awaiter(operation_queue& queue, Op op) : queue_(queue), op_(std::move(op)) {
    if (op_.args().device.is_empty()) op_.device(queue.device);
    op_.comp(comp_t(static_cast<comp_impl_t*>(this)));
  }
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    coroutine_ = {handle, 1};
    waiting = &coroutine_;
    op_.call();  // if it throws, the coroutine resumes with the exception
  }
  void await_resume() { check(status, op_.args().device, op_.args().runtime); }

 private:
  void signal(status_t s) override {
    s.user_context = static_cast<pending_operation*>(this);
    comp_signal(queue_.ended, s);  // the last access: afterwards the coroutine may have resumed
  }

  operation_queue& queue_;
  Op op_;
  waiting_coroutine coroutine_;
};

}  // namespace detail
}  // namespace lci
