#include "lib/layers/ccs/inbox.hpp"

#include <cstring>
#include <mutex>
#include <utility>

namespace ccs {

bool inbox::append(uint64_t tag, const void* data, size_t size) {
  auto m = std::make_unique<message>(message{tag, size, std::make_unique<std::byte[]>(size + 1), nullptr});
  if (size > 0) std::memcpy(m->data.get(), data, size);
  std::lock_guard guard(lock_);
  messages_.push(std::move(m));
  return waiting_.fetch_add(1, std::memory_order_relaxed) == 0;
}

std::unique_ptr<inbox::message> inbox::begin() noexcept {
  std::lock_guard guard(lock_);
  if (taken_) return nullptr;
  std::unique_ptr<message> m = messages_.pop();
  taken_ = m != nullptr;
  return m;
}

bool inbox::end() noexcept {
  std::lock_guard guard(lock_);
  taken_ = false;
  return waiting_.fetch_sub(1, std::memory_order_release) > 1;  // R1
}

}  // namespace ccs
