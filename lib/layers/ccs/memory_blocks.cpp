#include "lib/layers/ccs/memory_blocks.hpp"

#include <cstdlib>
#include <new>

#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/process.hpp"

namespace ccs {

void* memory_blocks::allocate(const process& p, size_t size) {
  block b;
  void* address = nullptr;
  try {
    b.shared = lci::alloc_shared_x(size > 0 ? size : 1).device(p.device)();
    address = lci::get_mr_base(b.shared);
  } catch (const lci::resource_error&) {
    address = std::malloc(size > 0 ? size : 1);
  }
  if (address == nullptr) return nullptr;
  try {
    std::lock_guard guard(mutex_);
    blocks_.emplace(address, b);
    return address;
  } catch (const std::bad_alloc&) {
    end(address, b);
    return nullptr;
  }
}

void memory_blocks::end(void* address, block& b) noexcept {
  if (b.shared.is_empty())
    std::free(address);
  else
    insist("CCS_free", [&] { lci::free_shared(&b.shared); });
}

bool memory_blocks::release(void* address) {
  block b;
  {
    std::lock_guard guard(mutex_);
    const auto at = blocks_.find(address);
    if (at == blocks_.end()) return false;
    b = at->second;
    blocks_.erase(at);
  }
  end(address, b);
  return true;
}

void memory_blocks::release_all() {
  for (;;) {
    void* address = nullptr;
    {
      std::lock_guard guard(mutex_);
      if (blocks_.empty()) return;
      address = blocks_.begin()->first;
    }
    release(address);
  }
}

void memory_blocks::add_symmetric(void* address, size_t size) {
  std::lock_guard guard(mutex_);
  symmetric_[address] = size;
}

size_t memory_blocks::take_symmetric(void* address) {
  std::lock_guard guard(mutex_);
  const auto at = symmetric_.find(address);
  if (at == symmetric_.end()) return 0;
  const size_t size = at->second;
  symmetric_.erase(at);
  return size;
}

}  // namespace ccs
