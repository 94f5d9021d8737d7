// Futures: results of outstanding calls.
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

/// More than a hundred years. Can be added to the time since the system's start without overflow.
constexpr int64_t longest_limit = int64_t{1} << 62;

template <class Duration>
int64_t nanoseconds_of(Duration d) {
  // In double, since the conversion of a long duration, e.g. of hours::max(), to integer nanoseconds overflows.
  const double about = std::chrono::duration<double, std::nano>(d).count();
  if (about >= static_cast<double>(longest_limit)) return longest_limit;
  const auto n = about > 0 ? std::chrono::duration_cast<std::chrono::nanoseconds>(d).count() : 0;
  return n > 0 ? n : 0;
}

/// Decodes the result of a complete call, or throws the call's failure.
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

/// Awaiters; defined in lci/rpc/coroutine.hpp.
template <class R>
class call_awaiter;
template <class R, class Queue>
class queued_call_awaiter;

}  // namespace detail

/// The result of a posted call. Owns the call: the destructor drops the result, but does not cancel the execution. One
/// thread at a time may use it.
template <class R>
class [[nodiscard]] future {
 public:
  /// A future without a call; its functions throw lci::invalid_argument_error.
  future() = default;

  explicit operator bool() const { return call_ != nullptr; }
  /// Returns whether the call is complete, so that get() does not wait.
  bool is_ready() const { return detail::is_done(valid()); }
  /// Makes progress until the call is complete.
  void wait() { detail::wait(valid(), detail::no_limit); }
  /// The same, for at most this time. Returns whether the call is complete.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) {
    return detail::wait(valid(), detail::nanoseconds_of(d));
  }
  /// Waits, then returns the result or throws the call's failure. Afterwards the future has no call.
  R get() {
    detail::wait(valid(), detail::no_limit);
    const detail::call_ptr c = std::move(call_);
    return detail::take_result<R>(*c);
  }
  /// Ends the call with cancelled_error, unless it is complete. The peer may still execute the function.
  void cancel() { detail::cancel(valid(), false); }

  /// For `co_await` in a lci::task, whose scheduler resumes it. Needs lci/rpc/coroutine.hpp.
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

  std::shared_ptr<detail::engine_core> engine_;  // must outlive the call
  detail::call_ptr call_;
};

}  // namespace lci::rpc
