#include "lib/core/runtime/rcomp_table.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/comp/am_handler.hpp"
#include "lib/comp/completion_queue.hpp"
#include "lib/comp/handler.hpp"
#include "lib/core/operation/make_status.hpp"

namespace lci::core {

namespace {

/// The places where completion objects are registered, in all tables.
struct registrations {
  struct place {
    rcomp_table* table;
    rcomp_t rcomp;
  };
  // Held while tables are visited for an object being freed, so that no table is destroyed meanwhile. Lock order:
  // `visits`, a table's mutex, `mutex`.
  std::mutex visits;
  std::mutex mutex;
  std::unordered_map<const comp_impl_t*, std::vector<place>> places;  // under mutex

  void add(const comp_impl_t* comp, place p) {
    std::lock_guard guard(mutex);
    places[comp].push_back(p);
  }
  void remove(const comp_impl_t* comp, rcomp_table* table, rcomp_t rcomp) {
    std::lock_guard guard(mutex);
    const auto at = places.find(comp);
    if (at == places.end()) return;
    auto& all = at->second;
    all.erase(
        std::remove_if(all.begin(), all.end(), [&](const place& p) { return p.table == table && p.rcomp == rcomp; }),
        all.end());
    if (all.empty()) places.erase(at);
  }
  void remove(const rcomp_table* table) {
    std::lock_guard guard(mutex);
    for (auto at = places.begin(); at != places.end();) {
      auto& all = at->second;
      all.erase(std::remove_if(all.begin(), all.end(), [&](const place& p) { return p.table == table; }), all.end());
      at = all.empty() ? places.erase(at) : std::next(at);
    }
  }
  std::vector<place> take(const comp_impl_t* comp) {
    std::lock_guard guard(mutex);
    const auto at = places.find(comp);
    if (at == places.end()) return {};
    std::vector<place> all = std::move(at->second);
    places.erase(at);
    return all;
  }
};

registrations& all_registrations() {
  static registrations& all = *new registrations;  // never freed: the program's static destructors may use it
  return all;
}

void signal_object(void* object, int rank, const void* data, size_t size, tag_t tag) {
  static_cast<comp_impl_t*>(object)->signal(make_status(errorcode_t::done, rank, data, size, tag, nullptr));
}

}  // namespace

void rcomp_table::end_all_of(const comp_impl_t* comp) {
  registrations& all = all_registrations();
  std::lock_guard visit(all.visits);
  for (const auto& [table, rcomp] : all.take(comp)) table->remove_of(comp, rcomp);
}

rcomp_table::rcomp_table(uint32_t never_reused) : slots_(16, &unused_), never_reused_(never_reused) {
  (void)all_registrations();  // created here, where it may throw, and not first in a destructor
}

rcomp_table::~rcomp_table() {
  {
    std::lock_guard visit(all_registrations().visits);
    all_registrations().remove(this);
  }
  for (uint32_t i = 1; i < size_; ++i) delete slots_.get(i);
}

rcomp_table::slot* rcomp_table::fresh() {
  if (size_ > index_mask)
    throw_invalid("register_rcomp", "handles in use", std::to_string(size_ - 1),
                  "at most " + std::to_string(index_mask), "deregister some");
  auto s = std::make_unique<slot>();
  s->next = size_;
  slots_.put(size_, s.get());
  ++size_;
  return s.release();
}

void rcomp_table::add_free(slot* s) {
  s->next_free = nullptr;
  (first_free_ == nullptr ? first_free_ : last_free_->next_free) = s;
  last_free_ = s;
}

rcomp_table::slot* rcomp_table::next_slot() {
  if (refused_ != nullptr) return std::exchange(refused_, nullptr);
  if (first_free_ == nullptr || size_ <= never_reused_) return fresh();
  return std::exchange(first_free_, first_free_->next_free);
}

rcomp_table::slot* rcomp_table::slot_of(rcomp_t rcomp) const {
  const uint32_t index = rcomp & index_mask;
  return index == 0 || index >= size_ ? nullptr : slots_.get(index);
}

rcomp_table::slot* rcomp_table::find(rcomp_t rcomp) const {
  slot* s = slot_of(rcomp);
  return s != nullptr && s->next == rcomp ? s : nullptr;
}

rcomp_table::delivery rcomp_table::delivery_of(comp_impl_t* comp, const allocator_base_t* allocator) {
  if (!comp->attr.am_in_place) {
    const bool in_own_memory = allocator == nullptr && !comp->attr.zero_copy_am;
    return {nullptr, in_own_memory ? dynamic_cast<unbounded_queue*>(comp) : nullptr};
  }
  if (const auto* h = dynamic_cast<const am_handler*>(comp)) return {h->called(), h->attr.user_context};
  if (const auto* h = dynamic_cast<const handler*>(comp))
    return {handler::deliver, reinterpret_cast<void*>(h->called())};
  return {signal_object, comp};
}

void rcomp_table::publish(slot* s, comp_impl_t* comp, allocator_base_t* allocator) {
  all_registrations().add(comp, {this, s->next});
  if (s->ended == s->next) s->ended = 0;  // generations wrap
  s->use = slot::state::registered;
  const delivery small = delivery_of(comp, allocator);
  s->to.store(small.to, std::memory_order_release);              // R4: pairs with A4 in small()
  s->function.store(small.function, std::memory_order_release);  // R4
  s->allocator.store(allocator, std::memory_order_release);      // R3: pairs with A3 in found()
  s->comp.store(comp, std::memory_order_release);                // R1: pairs with A1 in comp() and found()
  s->rcomp.store(s->next, std::memory_order_release);            // R2: pairs with A2 in is_valid()
}

rcomp_t rcomp_table::add(comp_impl_t* comp, allocator_base_t* allocator) {
  std::lock_guard guard(mutex_);
  slot* const s = next_slot();
  try {
    publish(s, comp, allocator);
  } catch (...) {
    refused_ = s;
    throw;
  }
  return s->next;
}

void rcomp_table::add_reserved(comp_impl_t* comp, rcomp_t rcomp, allocator_base_t* allocator) {
  std::lock_guard guard(mutex_);
  slot* s = find(rcomp);
  if (!s || s->use != slot::state::reserved)
    throw_invalid("register_rcomp", "rcomp", std::to_string(rcomp),
                  "a reserved handle that nothing is registered under",
                  "get one from reserve_rcomps(), or leave it out");
  publish(s, comp, allocator);
}

rcomp_t rcomp_table::reserve(rcomp_t n) {
  std::lock_guard guard(mutex_);
  if (n < 1 || n > index_mask - (size_ - 1))
    throw_invalid("reserve_rcomps", "n", std::to_string(n), "1.." + std::to_string(index_mask - (size_ - 1)));
  const rcomp_t first = size_;
  try {
    while (n--) fresh()->use = slot::state::reserved;
  } catch (...) {
    for (uint32_t i = first; i < size_; ++i) {
      slots_.get(i)->use = slot::state::free;
      add_free(slots_.get(i));
    }
    throw;
  }
  return first;
}

void rcomp_table::remove(rcomp_t rcomp) {
  std::lock_guard guard(mutex_);
  slot* s = slot_of(rcomp);
  const bool current = s != nullptr && s->next == rcomp && s->use != slot::state::free;
  if (!current && s != nullptr && rcomp != 0 && s->ended == rcomp) {
    s->ended = 0;
    return;
  }
  if (!current)
    throw_invalid("deregister_rcomp", "rcomp", std::to_string(rcomp), "a registered or reserved handle",
                  "each can be deregistered once");
  if (s->use == slot::state::registered)
    all_registrations().remove(s->comp.load(std::memory_order_relaxed), this, rcomp);
  clear(s);
}

void rcomp_table::remove_of(const comp_impl_t* comp, rcomp_t rcomp) {
  std::lock_guard guard(mutex_);
  slot* s = find(rcomp);
  // Another thread may have deregistered it and registered another object under its handle.
  if (s == nullptr || s->use != slot::state::registered || s->comp.load(std::memory_order_relaxed) != comp) return;
  s->ended = rcomp;
  clear(s);
}

void rcomp_table::clear(slot* s) {
  s->rcomp.store(0, std::memory_order_relaxed);  // ordered before a new object, allocator and function by R1, R3, R4
  s->function.store(nullptr, std::memory_order_release);
  s->to.store(nullptr, std::memory_order_release);
  s->comp.store(nullptr, std::memory_order_release);
  s->next += 1u << index_bits;  // wraps to generation 0 after 256 uses
  s->use = slot::state::free;
  add_free(s);
}

}  // namespace lci::core
