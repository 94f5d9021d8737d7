#include "lib/core/rcomp_table.hpp"

#include <string>

#include "lib/base/check.hpp"

namespace lci::core {

rcomp_table::rcomp_table() : slots_(16, &unused_) {}

rcomp_table::~rcomp_table() {
  for (uint32_t i = 1; i < size_; ++i) delete slots_.get(i);
}

rcomp_table::slot* rcomp_table::fresh() {
  if (size_ > index_mask)
    throw_invalid("register_rcomp", "handles in use", std::to_string(size_ - 1),
                  "at most " + std::to_string(index_mask), "deregister some");
  slot* s = new slot;
  s->next = size_;
  slots_.put(size_++, s);
  return s;
}

rcomp_table::slot* rcomp_table::find(rcomp_t rcomp) const {
  const uint32_t index = rcomp & index_mask;
  if (index == 0 || index >= size_) return nullptr;
  slot* s = slots_.get(index);
  return s->next == rcomp ? s : nullptr;
}

void rcomp_table::publish(slot* s, comp_impl_t* comp) {
  s->use = slot::state::registered;
  s->comp.store(comp, std::memory_order_release);      // R1: pairs with A1 in lookup()
  s->rcomp.store(s->next, std::memory_order_release);  // R2: pairs with A2 in lookup()
}

rcomp_t rcomp_table::add(comp_impl_t* comp) {
  std::lock_guard guard(mutex_);
  slot* s;
  if (free_.empty()) {
    s = fresh();
  } else {
    s = free_.front();
    free_.pop_front();
  }
  publish(s, comp);
  return s->next;
}

void rcomp_table::add(comp_impl_t* comp, rcomp_t rcomp) {
  std::lock_guard guard(mutex_);
  slot* s = find(rcomp);
  if (!s || s->use != slot::state::reserved)
    throw_invalid("register_rcomp", "rcomp", std::to_string(rcomp),
                  "a reserved handle that nothing is registered under",
                  "get one from reserve_rcomps(), or leave it out");
  publish(s, comp);
}

rcomp_t rcomp_table::reserve(rcomp_t n) {
  std::lock_guard guard(mutex_);
  if (n < 1 || n > index_mask - (size_ - 1))
    throw_invalid("reserve_rcomps", "n", std::to_string(n),
                  "1.." + std::to_string(index_mask - (size_ - 1)));
  const rcomp_t first = size_;
  while (n--) fresh()->use = slot::state::reserved;
  return first;
}

void rcomp_table::remove(rcomp_t rcomp) {
  std::lock_guard guard(mutex_);
  slot* s = find(rcomp);
  if (!s || s->use == slot::state::free)
    throw_invalid("deregister_rcomp", "rcomp", std::to_string(rcomp),
                  "a registered or reserved handle", "each can be deregistered once");
  s->rcomp.store(0, std::memory_order_relaxed);  // ordered before a new object by R1
  s->comp.store(nullptr, std::memory_order_release);
  s->next += 1u << index_bits;  // wraps to generation 0 after 256 uses
  s->use = slot::state::free;
  free_.push_back(s);
}

}  // namespace lci::core
