#include "lib/layers/ccs/inbox.hpp"

#include <cstring>
#include <mutex>
#include <utility>

#include "lib/base/cpu.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/thread_state.hpp"

namespace ccs {

bool inbox::append(uint64_t tag, const void* data, size_t size) {
  message m{tag, size, std::make_unique<std::byte[]>(size + 1)};
  if (size > 0) std::memcpy(m.data.get(), data, size);
  std::lock_guard guard(lock_);
  messages_.push_back(std::move(m));
  return waiting_.fetch_add(1, std::memory_order_relaxed) == 0;
}

bool inbox::begin(message& m) {
  std::lock_guard guard(lock_);
  if (taken_ || messages_.empty()) return false;
  taken_ = true;
  m = std::move(messages_.front());
  messages_.pop_front();
  return true;
}

bool inbox::end() {
  std::lock_guard guard(lock_);
  taken_ = false;
  return waiting_.fetch_sub(1, std::memory_order_release) > 1;  // R1
}

void due_callbacks::add(const item& i) {
  std::lock_guard guard(lock_);
  items_.push_back(i);
  n_.store(items_.size(), std::memory_order_relaxed);
}

bool due_callbacks::take(item& i) {
  // Relaxed: a callback that another thread is adding is found at the next poll.
  if (n_.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard guard(lock_);
  if (items_.empty()) return false;
  i = items_.front();
  items_.pop_front();
  n_.store(items_.size(), std::memory_order_relaxed);
  return true;
}

void call_now(const due_callbacks::item& i) {
  const running_mark mark;
  const unsigned locks = tls.locks, sections = tls.sections;
  tls.callback_status = i.status;
  i.callback(i.arg);
  tls.callback_status = CCS_SUCCESS;
  if (LCI_UNLIKELY(tls.locks != locks || tls.sections != sections))
    fail("a callback", "it has returned with a lock held or in a no-interrupt section: end both where they begin");
}

void call_or_store(due_callbacks& due, CCS_callback_t callback, void* arg, int status) {
  if (callback == nullptr) return;
  const due_callbacks::item i{callback, arg, status};
  if (LCI_LIKELY(tls.busy == 0)) return call_now(i);
  due.add(i);
}

}  // namespace ccs
