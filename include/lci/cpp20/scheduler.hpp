// The scheduler, which resumes coroutines when their operations have ended.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <utility>

#include "lci/cpp20/task.hpp"
#include "lci/cpp20/unique_handle.hpp"

namespace lci {

/// Runs tasks in the thread that calls run() or poll(), never inside a handler:
///
///   lci::scheduler scheduler;
///   scheduler.spawn(ping(peer));
///   scheduler.spawn(pong(peer));
///   scheduler.run();
///
/// Not thread-safe: one thread uses a scheduler and its tasks. Other threads may make progress on the
/// device; completions that they find go to the scheduler's completion queue. An operation without a
/// device uses that of the scheduler, the only one that the scheduler makes progress on.
class scheduler final : private detail::task_queue {
 public:
  /// `with` empty: the default runtime's default one.
  explicit scheduler(device_t with = device_t()) : queue_(alloc_cq()) {
    device = with;
    ended = queue_;
  }
  /// Frees tasks that have not begun. Leaks tasks that have begun and not ended, with what they own, since the
  /// library may still write into their buffers.
  ~scheduler() {
    for (; !new_.empty(); --unfinished_) new_.pop()->self.destroy();
    if (unfinished_ > 0) static_cast<void>(queue_.release());
  }
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Takes ownership of a task, which begins in run() or poll(). Call it in the scheduler's thread; its tasks
  /// may call it too.
  void spawn(task<void> t) {
    const auto handle = t.release();
    handle.promise().scheduler = this;
    handle.promise().self = handle;
    new_.push(&handle.promise());
    ++unfinished_;
  }

  /// Runs until all spawned tasks have ended. Makes progress meanwhile, and sleeps if there is nothing to
  /// do. Throws the exceptions of spawned tasks and of progress(); the other tasks then continue in
  /// the next call.
  void run() {
    while (unfinished_ > 0)
      if (!resume_some()) wait();
  }
  /// Spawns `t`, then runs.
  void run(task<void> t) {
    spawn(std::move(t));
    run();
  }

  /// Makes progress once, then resumes all tasks that can continue. For programs with their own loop. True if
  /// there was any progress. Throws as run() does.
  bool poll() {
    const bool happened = progress_x().device(device)().is_done();
    return resume_some() || happened;
  }

  /// Number of tasks that were spawned and have not ended.
  size_t unfinished() const { return unfinished_; }

  /// The awaiter that co_await of a functor uses inside a task, for coroutines of other types. These must be
  /// resumed in this scheduler's thread only.
  template <posted_operation Op>
  auto await(Op op) {
    return detail::operation_awaiter<Op>(*this, std::move(op));
  }

 private:
  bool resume_some() {
    bool any = false;
    for (; !new_.empty(); any = true) resume(new_.pop()->self);
    any |= post_again();
    for (status_t s; !(s = cq_pop(ended)).is_retry(); any = true) tell(s);
    return any;
  }

  /// Posts each refused operation once more. One that is refused again goes to the end of the list.
  bool post_again() {
    bool any = false;
    detail::intrusive_queue<detail::pending_operation> now = std::exchange(refused, {});
    while (!now.empty()) {
      detail::pending_operation* p = now.pop();
      p->post(p);
      if (p->thrown == nullptr && p->status.is_retry()) {
        refused.push(p);
        continue;
      }
      any = true;
      if (p->thrown != nullptr || p->status.is_done()) ended_one(*p->waiting);
    }
    return any;
  }

  void tell(const status_t& s) {
    auto* p = static_cast<detail::pending_operation*>(s.user_context);
    p->status = s;
    ended_one(*p->waiting);
  }

  void ended_one(detail::waiting_coroutine& coroutine) {
    if (--coroutine.left == 0) resume(coroutine.handle);
  }

  void resume(std::coroutine_handle<> handle) {
    handle.resume();
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

  void over(detail::task_promise_base& promise, std::coroutine_handle<> handle) override {
    --unfinished_;
    thrown_ = promise.thrown;
    handle.destroy();
  }

  void wait() {
    // Refused posts wait for progress. All other events arrive in the queue, except those of awaitables of the
    // program, so the wait is bounded.
    constexpr double seconds = 0.01;
    if (!refused.empty()) {
      if (progress_x().device(device)().is_retry()) std::this_thread::yield();
      return;
    }
    const status_t s = cq_wait_for_x(ended, seconds).device(device)();
    if (!s.is_retry()) tell(s);
  }

  unique_handle<comp_t> queue_;
  detail::intrusive_queue<detail::task_promise_base> new_;  // spawned, not begun
  size_t unfinished_ = 0;
  std::exception_ptr thrown_;  // exception of the spawned task that has just ended
};

}  // namespace lci
