// Where coroutines go on when their operations have ended.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <utility>

#include "lci/cpp20/task.hpp"
#include "lci/cpp20/unique_handle.hpp"

namespace lci {

/// Runs tasks, all in the thread that calls run() or poll(), none inside a handler:
///
///   lci::scheduler scheduler;
///   scheduler.spawn(ping(peer));
///   scheduler.spawn(pong(peer));
///   scheduler.run();
///
/// Thread-bound: one thread uses a scheduler and its tasks. Other threads may make progress on the
/// device; an end that they find waits in the scheduler's completion queue. An operation that names no
/// device uses the scheduler's, the only one that the scheduler makes progress on.
class scheduler final : private detail::task_queue {
 public:
  /// `device` empty: the default runtime's default one.
  explicit scheduler(device_t device = device_t()) : queue_(alloc_cq()) {
    this->device = device;
    ended = queue_;
  }
  /// Tasks that have begun and not ended are left behind, with what they own: the library may still
  /// write into their buffers.
  ~scheduler() {
    for (; !new_.empty(); --unfinished_) new_.pop()->self.destroy();
    if (unfinished_ > 0) static_cast<void>(queue_.release());
  }
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Hands a task over, to begin in run() or poll(). To be called by the scheduler's thread, also by
  /// its tasks.
  void spawn(task<void> t) {
    const auto handle = t.release();
    handle.promise().scheduler = this;
    handle.promise().self = handle;
    new_.push(&handle.promise());
    ++unfinished_;
  }

  /// Until all spawned tasks have ended. Makes progress meanwhile, and sleeps where there is nothing to
  /// do. What a spawned task throws comes out, as does what progress() throws: then the others wait for
  /// the next call.
  void run() {
    while (unfinished_ > 0)
      if (!resume_some()) wait();
  }
  /// Spawns it first.
  void run(task<void> t) {
    spawn(std::move(t));
    run();
  }

  /// Progress once; then all that can go on does. For programs with a loop of their own. True if
  /// anything happened. Throws as run() does.
  bool poll() {
    const bool happened = progress_x().device(device)().is_done();
    return resume_some() || happened;
  }

  /// Tasks that were spawned and have not ended.
  size_t unfinished() const { return unfinished_; }

  /// What co_await of a functor awaits inside a task, for coroutines of another type. They must go on
  /// in this scheduler's thread only.
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

  /// Each that was refused is tried once. What is refused again comes behind the others.
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
    // What was refused waits for progress; everything else that can happen comes into the queue,
    // unless a task awaits something of the program's: so not for ever.
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
  std::exception_ptr thrown_;  // by the spawned task that has just ended
};

}  // namespace lci
