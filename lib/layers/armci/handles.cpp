#include "lib/layers/armci/handles.hpp"

#include "lib/layers/armci/errors.hpp"

namespace armci_layer {

handle_table::slot* handle_table::slot_of(armci_hdl_t handle) {
  const auto number = static_cast<uint32_t>(handle);
  const uint32_t index = number & 0xffff;
  if ((number & mark_bits) != mark || index >= slots_.size()) return nullptr;
  slot& s = slots_[index];
  return s.used && number_of(s, index) == handle ? &s : nullptr;
}

uint32_t handle_table::take() {
  if (free_.empty()) {
    if (slots_.size() == 0x10000)
      throw error(internal_failure, "65536 requests are open: complete some with ARMCI_Wait");
    free_.reserve(slots_.size() + 1);  // so that end() needs no memory
    slots_.emplace_back();
    free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  slot& s = slots_[index];
  ++s.generation;
  s.used = true;
  s.aggregate = false;
  s.failure.store(0, std::memory_order_relaxed);
  return index;
}

request_state& handle_table::begin(armci_hdl_t* handle) {
  const std::lock_guard guard(mutex_);
  if (slot* s = slot_of(*handle); s != nullptr && s->aggregate) return *s;
  const uint32_t index = take();
  *handle = number_of(slots_[index], index);
  return slots_[index];
}

request_state* handle_table::find(armci_hdl_t handle) {
  const std::lock_guard guard(mutex_);
  return slot_of(handle);
}

void handle_table::end(armci_hdl_t* handle) {
  const std::lock_guard guard(mutex_);
  slot* s = slot_of(*handle);
  if (s == nullptr) return;
  if (s->aggregate) return;  // it may be used again, until it is unset
  s->used = false;
  free_.push_back(static_cast<uint32_t>(*handle) & 0xffff);
  *handle = 0;
}

void handle_table::make_aggregate(armci_hdl_t* handle) {
  const std::lock_guard guard(mutex_);
  const uint32_t index = take();
  slots_[index].aggregate = true;
  *handle = number_of(slots_[index], index);
}

void handle_table::unmake_aggregate(armci_hdl_t handle) {
  const std::lock_guard guard(mutex_);
  if (slot* s = slot_of(handle)) s->aggregate = false;  // a request like others, which ARMCI_Wait ends
}

bool handle_table::is_aggregate_slow(armci_hdl_t handle) {
  const std::lock_guard guard(mutex_);
  const slot* s = slot_of(handle);
  return s != nullptr && s->aggregate;
}

}  // namespace armci_layer
