// The completion objects that other ranks can address.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "lci/handles.hpp"
#include "lci/types.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/mpmc_array.hpp"

namespace lci {
class comp_impl_t;
struct allocator_base_t;
}  // namespace lci

namespace lci::core {

/// Maps remote completion handles to completion objects. Does not own the objects. Thread-safe; lookup() takes no
/// lock. A handle is an index (24 bits, from 1 in registration order) and a generation (upper 8 bits, 0 at the first
/// use of an index), so that a handle whose registration has ended is recognised. The first n_never_reused
/// registrations get new indices, so that ranks that register in the same order get the same handles, whatever the
/// order in which their threads deregister. Beyond that, ranks must also deregister in the same order.
class rcomp_table {
 public:
  static constexpr uint32_t index_bits = 24;
  static constexpr uint32_t index_mask = (1u << index_bits) - 1;

  /// Programs rely on handles that do not depend on deregistrations. Few programs register more objects in their whole
  /// life; the slots take 300 KB then.
  static constexpr uint32_t n_never_reused = 4096;

  explicit rcomp_table(uint32_t never_reused = n_never_reused);
  ~rcomp_table();
  rcomp_table(const rcomp_table&) = delete;
  rcomp_table& operator=(const rcomp_table&) = delete;

  /// An object, and the allocator of the payloads delivered to it; null: the runtime's.
  struct target {
    comp_impl_t* comp;
    allocator_base_t* allocator;
  };
  /// How an object gets a small active message. In place: the function is called with `to`, rank, payload and tag. The
  /// function is null for an object that gets copies. Then `to` is the unbounded_queue that gets them in memory of the
  /// runtime, or null for other objects, and where the registration has an allocator.
  struct delivery {
    am_handler_t function;
    void* to;
  };

 private:
  struct slot {
    std::atomic<comp_impl_t*> comp{nullptr};
    std::atomic<allocator_base_t*> allocator{nullptr};
    std::atomic<am_handler_t> function{nullptr};  // of `delivery`
    std::atomic<void*> to{nullptr};               // of `delivery`
    std::atomic<rcomp_t> rcomp{0};                // 0: invalid; as a handle it leads to a null object
    rcomp_t next = 0;                             // under mutex_: the current handle, or the next one if free
    rcomp_t ended = 0;  // under mutex_: the handle of the last registration that ended because its object was freed
    enum class state : uint8_t { reserved, registered, free } use = state::free;  // under mutex_
    slot* next_free = nullptr;                                                    // under mutex_
  };

 public:
  /// What is registered under a handle, if anything is.
  ///
  /// Object, allocator and delivery are read before the handle. A slot that is reused first gets an invalid handle,
  /// then the new delivery, allocator and object, then the new handle. So a reader that sees one of the new ones does
  /// not see the old handle, and an old handle never leads to a new object, allocator or delivery.
  class entry {
   public:
    /// The object, or null for a handle that is unknown or no longer valid.
    comp_impl_t* comp() const {
      comp_impl_t* found = slot_->comp.load(std::memory_order_acquire);  // A1
      return is_valid() ? found : nullptr;
    }
    /// The same with the allocator, which is meaningless if the object is null.
    target found() const {
      comp_impl_t* comp = slot_->comp.load(std::memory_order_acquire);                 // A1
      allocator_base_t* allocator = slot_->allocator.load(std::memory_order_acquire);  // A3
      return {is_valid() ? comp : nullptr, allocator};
    }
    /// Both members are null where comp() is null.
    delivery small() const {
      const am_handler_t f = slot_->function.load(std::memory_order_acquire);  // A4
      void* const to = slot_->to.load(std::memory_order_acquire);              // A4
      if (LCI_UNLIKELY(!is_valid())) return {nullptr, nullptr};
      return {f, to};
    }

   private:
    friend class rcomp_table;
    entry(const slot* s, rcomp_t rcomp) : slot_(s), rcomp_(rcomp) {}
    bool is_valid() const { return slot_->rcomp.load(std::memory_order_acquire) == rcomp_; }  // A2

    const slot* slot_;
    rcomp_t rcomp_;
  };
  // The table has at most index_mask + 1 slots, so get_wrapped() ignores the generation.
  entry at(rcomp_t rcomp) const { return {slots_.get_wrapped(rcomp), rcomp}; }
  comp_impl_t* lookup(rcomp_t rcomp) const { return at(rcomp).comp(); }
  target find_target(rcomp_t rcomp) const { return at(rcomp).found(); }

  /// Registers under the next handle: that of a new slot while there are few slots, or no free one; else that of the
  /// slot deregistered first.
  rcomp_t add(comp_impl_t* comp, allocator_base_t* allocator = nullptr);
  /// Registers under a handle from reserve(). Throws invalid_argument_error for any other handle.
  void add_reserved(comp_impl_t* comp, rcomp_t rcomp, allocator_base_t* allocator = nullptr);
  /// The first of `n` consecutive handles.
  rcomp_t reserve(rcomp_t n);
  /// Ends a registration or a reservation; the slot's next handle differs. Does nothing, once, if the object was freed
  /// before: programs free an object and deregister it in either order. Throws invalid_argument_error if `rcomp` is
  /// none of these.
  void remove(rcomp_t rcomp);
  /// remove(), unless `comp` is no longer the object that is registered there.
  void remove_of(const comp_impl_t* comp, rcomp_t rcomp);
  /// Ends all registrations, in all tables, of an object that is about to be freed.
  static void end_all_of(const comp_impl_t* comp);

 private:
  slot* fresh();                       // under mutex_
  void add_free(slot* s);              // under mutex_
  slot* next_slot();                   // under mutex_
  void clear(slot* s);                 // under mutex_
  slot* slot_of(rcomp_t rcomp) const;  // under mutex_; null if there is none
  slot* find(rcomp_t rcomp) const;     // under mutex_; null if `rcomp` is not the slot's current handle
  static delivery delivery_of(comp_impl_t* comp, const allocator_base_t* allocator);
  void publish(slot* s, comp_impl_t* comp, allocator_base_t* allocator);

  slot unused_;              // for indices without a slot of their own
  mpmc_array<slot*> slots_;  // not freed before the table, since lookup() may still read them
  std::mutex mutex_;
  const uint32_t never_reused_;
  uint32_t size_ = 1;  // under mutex_; index 0 is never used
  // First in, first out, so that generations wrap late; under mutex_.
  slot* first_free_ = nullptr;
  slot* last_free_ = nullptr;
  /// Of a registration that had no memory; under mutex_. The next one gets the handle, as at other ranks.
  slot* refused_ = nullptr;
};

}  // namespace lci::core
