// Results of calls under way.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "lci/rpc/library.hpp"

namespace lci::rpc {

template <class R, class... Stored>
class prepared_call;
template <class R>
class call_node;
class prepared_transfer;

namespace detail {

template <class Duration>
int64_t nanoseconds_of(Duration d) {
  const auto n = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
  return n > 0 ? n : 0;
}

/// Decodes the result of a complete call; throws its failure.
template <class R>
R take_result(call& c) {
  reader r = result_of(c);
  if constexpr (!std::is_void_v<R>) {
    try {
      return codec<R>::read(r);
    } catch (const message_error& e) {
      throw_bad_result(c, e.what());
    }
  }
}

/// Awaiters of lci/rpc/coroutine.hpp.
template <class R>
class call_awaiter;
template <class R, class Queue>
class queued_call_awaiter;

}  // namespace detail

/// The result of a call that was posted. Owns the call: destroying it loses the result, not the call's execution. One
/// thread at a time uses it.
template <class R>
class [[nodiscard]] future {
 public:
  /// None.
  future() = default;

  explicit operator bool() const { return call_ != nullptr; }
  /// Whether get() returns at once.
  bool is_ready() const { return detail::is_done(valid()); }
  /// Makes progress, and returns when the call is complete.
  void wait() { detail::wait(valid(), detail::no_limit); }
  /// The same, at most for this time; false if the call is not complete then.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) {
    return detail::wait(valid(), detail::nanoseconds_of(d));
  }
  /// Waits, and returns the result or throws the call's failure. The future is none afterwards.
  R get() {
    detail::wait(valid(), detail::no_limit);
    const detail::call_ptr c = std::move(call_);
    return detail::take_result<R>(*c);
  }
  /// Ends the call with cancelled_error, unless it is complete. The function may be executed nevertheless.
  void cancel() { detail::cancel(valid(), false); }

  /// For `co_await` in a lci::task, which its scheduler resumes; include lci/rpc/coroutine.hpp.
  template <class Queue>
  detail::queued_call_awaiter<R, Queue> on(Queue& scheduler) && {
    valid();
    return {std::move(*this), scheduler};
  }

 private:
  template <class, class...>
  friend class prepared_call;
  template <class>
  friend class call_node;
  friend class prepared_transfer;
  template <class>
  friend class detail::call_awaiter;
  template <class, class>
  friend class detail::queued_call_awaiter;

  future(std::shared_ptr<detail::engine_core> e, detail::call_ptr c) : engine_(std::move(e)), call_(std::move(c)) {}
  detail::call& valid() const {
    if (call_ == nullptr) throw invalid_argument_error("rpc::future: it has no call, or its result was taken already");
    return *call_;
  }

  std::shared_ptr<detail::engine_core> engine_;  // outlives the call
  detail::call_ptr call_;
};

}  // namespace lci::rpc
