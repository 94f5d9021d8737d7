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

handle_table::holder::holder(slot& s) : slot_(&s) { s.holders.fetch_add(1, std::memory_order_relaxed); }
handle_table::holder::~holder() {
  if (slot_ != nullptr) slot_->holders.fetch_sub(1, std::memory_order_release);  // R1: pairs with A1 in make_room()
}
request_state* handle_table::holder::state() const { return slot_; }

bool handle_table::make_room() {
  if (!free_.empty()) return true;
  if (slots_.size() < most_slots) {
    free_.reserve(slots_.size() + 1);  // so that end() needs no memory
    slots_.emplace_back();
    free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    return true;
  }
  // Failures and aggregate handles stay until the program asks for them.
  bool under_way = false;
  for (uint32_t i = 0; i < most_slots; ++i) {
    slot& s = slots_[i];
    if (s.holders.load(std::memory_order_acquire) != 0 || s.pending.load(std::memory_order_acquire) != 0) {  // A1
      under_way = true;
    } else if (!s.aggregate && s.failure.load(std::memory_order_relaxed) == 0) {
      s.used = false;
      free_.push_back(i);
    }
  }
  if (free_.empty() && !under_way)
    throw error(internal_failure, "65536 requests are aggregate or have failed: complete some with ARMCI_Wait");
  return !free_.empty();
}

handle_table::holder handle_table::begin(armci_hdl_t* handle) {
  const std::lock_guard guard(mutex_);
  if (slot* s = slot_of(*handle); s != nullptr && s->aggregate) return holder(*s);
  if (!make_room()) return {};
  const uint32_t index = free_.back();
  free_.pop_back();
  slot& s = slots_[index];
  ++s.generation;
  s.used = true;
  s.aggregate = *handle == idle_aggregate;
  s.failure.store(0, std::memory_order_relaxed);
  *handle = number_of(s, index);
  return holder(s);
}

handle_table::holder handle_table::find(armci_hdl_t handle) {
  const std::lock_guard guard(mutex_);
  slot* const s = slot_of(handle);
  return s == nullptr ? holder() : holder(*s);
}

void handle_table::end(armci_hdl_t* handle) {
  const std::lock_guard guard(mutex_);
  slot* s = slot_of(*handle);
  if (s == nullptr) return;
  s->used = false;
  free_.push_back(static_cast<uint32_t>(*handle) & 0xffff);
  *handle = s->aggregate ? idle_aggregate : 0;
}

void handle_table::make_aggregate(armci_hdl_t* handle) {
  if (!is_aggregate(*handle)) *handle = idle_aggregate;
}

void handle_table::unmake_aggregate(armci_hdl_t* handle) {
  if (*handle == idle_aggregate) *handle = 0;
  const std::lock_guard guard(mutex_);
  if (slot* s = slot_of(*handle)) s->aggregate = false;  // a request like others, which ARMCI_Wait ends
}

bool handle_table::is_aggregate_slow(armci_hdl_t handle) {
  const std::lock_guard guard(mutex_);
  const slot* s = slot_of(handle);
  return s != nullptr && s->aggregate;
}

}  // namespace armci_layer
