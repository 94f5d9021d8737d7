// Posts that may not return `posted`: they wait inside until the operation has ended.
#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/kept_exceptions.hpp"
#include "lib/core/device/progress_backoff.hpp"
#include "lib/core/operation/ticket.hpp"

namespace lci::core {

/// The completion object of a blocking post. Of the calls of release() and signal(), the second deletes the object: the
/// waiting thread may see the end before signal() has returned. R1/A1: the second call sees what the first one did.
class blocking_comp final : public comp_impl_t {
 public:
  void signal(status_t s) override {
    status_ = s;
    if (state_.exchange(ended, std::memory_order_acq_rel) == abandoned) delete this;  // A1/R1
  }
  bool ready() const { return state_.load(std::memory_order_acquire) == ended; }  // A1
  status_t status() const { return status_; }
  void release() {
    if (state_.exchange(abandoned, std::memory_order_acq_rel) == ended) delete this;  // R1/A1
  }

 private:
  enum state { waiting, ended, abandoned };
  status_t status_;
  std::atomic<int> state_{waiting};
};

/// Returns whether a post that is complete signals its completion object instead of returning `done`. If the caller
/// does not allow `posted`, the post returns `done`, and `allow_done` has no effect.
template <class Args>
inline bool signals_when_done(const Args& a) {
  return LCI_UNLIKELY(!a.allow_done) && a.allow_posted && can_signal(a.local_comp);
}

/// Does nothing if the caller accepts `posted`; otherwise puts its own completion object into the arguments and waits
/// for it. Used by the posting thread only.
///
/// progress() may throw, for a handler or a failed peer. The operation still uses the buffer then, so the wait
/// continues until the operation ends or is withdrawn. The first exception is rethrown if the operation was withdrawn
/// or has failed. If it has succeeded, its caller must learn that: the exceptions are thrown by the next progress() of
/// the program, or by its next blocking post before that posts anything.
template <class Args>
class blocking_guard {
 public:
  blocking_guard(const char* what, device& d, Args& a) : device_(d), args_(a) {
    if (LCI_LIKELY(a.allow_posted && can_signal(a.local_comp))) return;
    if (tls_in_progress)
      throw_invalid(what, "local_comp", "COMP_NULL (or allow_posted = false)", "a completion object inside a handler",
                    "a handler can't wait for an operation");
    d.failures.report();
    a.local_comp = comp_t(comp_ = new blocking_comp);
    a.allow_done = true;
  }
  ~blocking_guard() {
    if (comp_ == nullptr) return;
    if (posted_) {
      comp_->release();
    } else {
      delete comp_;
    }
  }
  blocking_guard(const blocking_guard&) = delete;
  blocking_guard& operator=(const blocking_guard&) = delete;

  /// The object waited for; null if there is no wait.
  comp_impl_t* comp() const { return comp_; }

  status_t result(status_t status) {
    return result(status, [] { return false; });
  }
  /// `withdraw()` removes the operation and returns true, unless it has been matched.
  template <class F>
  status_t result(status_t status, F withdraw) {
    if (LCI_LIKELY(comp_ == nullptr) || !status.is_posted()) return status;
    posted_ = true;
    if constexpr (requires { args_.deadline; }) arm_deadline(args_);
    std::exception_ptr first;
    exceptions_for_later later(device_);
    for (progress_backoff rounds(device_); !comp_->ready();) {
      try {
        rounds.next();
      } catch (...) {
        if (first == nullptr)
          first = std::current_exception();
        else
          later.keep(std::current_exception());
        if (withdraw()) {
          posted_ = false;
          std::rethrow_exception(first);
        }
      }
    }
    status = comp_->status();
    if (LCI_UNLIKELY(first != nullptr)) {
      if (status.error.errorcode == errorcode_t::fatal) std::rethrow_exception(first);  // it mostly says why
      device_.failures.add_exception(std::move(first));
    }
    device_.failures.check_status(status);
    return status;
  }

 private:
  device& device_;
  const Args& args_;
  blocking_comp* comp_ = nullptr;
  bool posted_ = false;
};

}  // namespace lci::core
