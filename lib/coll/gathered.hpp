// What each rank contributes to a collective operation, exchanged by an allgather.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lci.hpp"
#include "lib/core/device/device.hpp"

namespace lci::coll {

/// One item of each rank, exchanged by gather(). The constructor allocates all memory, so a rank that has none throws
/// before the exchange, and no other rank gets a result. Used by one thread.
template <class T>
class gathered {
 public:
  explicit gathered(int n) : items_(std::make_unique<items>()) { items_->all.resize(static_cast<size_t>(n)); }

  T& mine() { return items_->mine; }
  const std::vector<T>& all() const { return items_->all; }

  /// Collective.
  void gather(runtime_t runtime, device_t device) {
    const auto& numbers = *device.p_impl->collective_numbers;
    const uint32_t number = numbers.peek();
    try {
      allgather_x(&items_->mine, items_->all.data(), sizeof(T)).runtime(runtime).device(device)();
    } catch (...) {
      if (numbers.peek() != number) (void)items_.release();  // it has begun: messages may still arrive there
      throw;
    }
  }

 private:
  struct items {
    T mine;
    std::vector<T> all;
  };
  std::unique_ptr<items> items_;
};

}  // namespace lci::coll
