#include "lib/layers/ccs/due.hpp"

#include <mutex>

#include "lib/layers/ccs/misuse.hpp"

namespace ccs {

void due_callbacks::add(std::unique_ptr<due_callback> one) noexcept {
  std::lock_guard guard(lock_);
  all_.push(std::move(one));
  n_.fetch_add(1, std::memory_order_relaxed);
}

std::unique_ptr<due_callback> due_callbacks::take() noexcept {
  if (is_empty()) return nullptr;
  std::lock_guard guard(lock_);
  std::unique_ptr<due_callback> one = all_.pop();
  if (one != nullptr) n_.fetch_sub(1, std::memory_order_relaxed);
  return one;
}

void call_now(CCS_callback_t callback, void* arg, int status) {
  const running_mark mark;
  const unsigned locks = tls.locks, sections = tls.sections;
  tls.callback_status = status;
  try {
    callback(arg);
  } catch (...) {
    fail("a callback", "it has thrown an exception, which no caller can catch: %s", text_of_exception());
  }
  tls.callback_status = CCS_SUCCESS;
  if (LCI_UNLIKELY(tls.locks != locks || tls.sections != sections))
    fail("a callback", "it has returned with a lock held or in a no-interrupt section: end both where they begin");
}

}  // namespace ccs
