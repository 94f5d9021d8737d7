// Pairs sends with receives: a hash table whose buckets are lists of queues (paper 4.1.3).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/match/entry_queue.hpp"

namespace lci::core {

/// A matching key holds 2 bits of policy, 30 of rank and 32 of tag.
constexpr tag_t max_tag = 0xffffffffu;

/// A matching engine. Thread-safe: one lock per bucket, held for a few instructions. A bucket stores up to three keys
/// with up to two entries each inline, the first entries in its first cache line, so that at low
/// load an insertion costs one cache miss; further entries of a key go to a queue, further keys to a
/// map. The table takes up no physical memory until it is touched, and neighbouring tags share pages.
class matching_engine : public object_memory<matching_engine, true> {
 public:
  using entry_test = std::function<bool(void* entry)>;

  explicit matching_engine(const matching_engine_attr_t& attr);
  ~matching_engine();
  matching_engine(const matching_engine&) = delete;
  matching_engine& operator=(const matching_engine&) = delete;

  /// The policy is part of the key, so that entries of different policies never match. `tag` must
  /// be below 2^32 if the policy includes it.
  matching_entry_key_t make_key(int rank, tag_t tag, matching_policy_t policy) const {
    return LCI_UNLIKELY(attr.make_key != nullptr) ? attr.make_key(rank, tag, policy) : usual_key(rank, tag, policy);
  }
  /// make_key() of engines that have no function of the program for it.
  static matching_entry_key_t usual_key(int rank, tag_t tag, matching_policy_t policy) {
    const auto p = static_cast<uint64_t>(policy);  // bit 0: rank counts, bit 1: tag counts
    if (LCI_LIKELY(policy == matching_policy_t::rank_tag))
      return uint64_t{3} << 62 | static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32 | tag;
    return p << 62 | (p & 1 ? static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32 : 0) | (p & 2 ? tag : 0);
  }

  /// Removes and returns the oldest entry of the other type under `key`; if there is none, inserts `value` and returns
  /// null. Throws std::bad_alloc.
  void* insert(matching_entry_key_t key, void* value, matching_entry_type_t type);

  /// Removes and returns the oldest entry of `type` under `key`; null if there is none.
  void* take(matching_entry_key_t key, matching_entry_type_t type);

  /// The same for the usual cases, without a call of another function: null also if the bucket is locked, or if its
  /// first key is another one.
  void* try_take(matching_entry_key_t key, matching_entry_type_t type) const;
  /// insert() where `key` has no entries of the other type and there is memory for the new one. Returns false,
  /// and does nothing, in all other cases and in those of try_take().
  bool try_insert(matching_entry_key_t key, void* value, matching_entry_type_t type);

  /// Removes the entries of `type`, under `key` or all keys, for which `wanted(entry)` is true. Returns how many.
  /// `wanted` is called under the bucket's lock: the entry can't be matched meanwhile, and it must not call the engine.
  size_t remove_if(matching_entry_key_t key, matching_entry_type_t type, const entry_test& wanted);
  size_t remove_if(matching_entry_type_t type, const entry_test& wanted);

  /// The table for values that the user inserts: separate, so that they never match messages, and are not
  /// taken for messages when the engine is freed. Made at first use. Thread-safe.
  matching_engine& of_user();

  /// Calls `visit(entry, type)` for every entry and empties the table. Not thread-safe.
  template <class F>
  void drain(F visit);

  matching_engine_attr_t attr;
  runtime_t runtime;
  uint16_t id = 0;  // the same at all ranks

 private:
  struct queue {
    matching_entry_type_t type;
    entry_queue entries;
  };
  using overflow_map = std::unordered_map<uint64_t, queue>;

  static constexpr int n_queues = 3;
  static constexpr uint8_t many = 3;
  struct alignas(2 * cache_line) bucket {
    spinlock lock;
    uint8_t count[n_queues];  // entries of key i: 0, 1, 2 or `many`
    uint8_t type[n_queues];   // their matching_entry_type_t
    uint64_t key[n_queues];
    void* first[n_queues];   // the oldest entry
    overflow_map* overflow;  // null at low load; keys in it are not among the three
    // second line
    void* second[n_queues];
    entry_queue* more[n_queues];  // `many`: all but the oldest; otherwise empty, for reuse
  };
  static_assert(offsetof(bucket, second) == cache_line);

  static constexpr size_t n_buckets = 65536;

  // An empty queue with more capacity than this is freed, so that buckets do not retain memory.
  static constexpr size_t most_kept = 256;

  static constexpr size_t group_size = 64;

  bucket& bucket_of(uint64_t key) const {
    // Low bits stay together, so that consecutive tags fall into neighbouring buckets.
    const uint64_t high = (key >> 16) * 0x9e3779b97f4a7c15ull;
    return buckets_[(key + (high >> 48)) & (n_buckets - 1)];
  }

  static void* pop(bucket& b, int q);
  LCI_NOINLINE static void* pop_many(bucket& b, int q);
  /// Of the queue `more`, which pop_many() has emptied.
  LCI_COLD static void shrink(bucket& b, int q);
  static void push(bucket& b, int q, void* value);
  LCI_NOINLINE static void push_third(bucket& b, int q, void* value);
  static void begin(bucket& b, int q, uint64_t key, void* value, matching_entry_type_t type);
  /// Where the bucket's first queue is of another key. Under its lock.
  LCI_NOINLINE void* insert_elsewhere(bucket& b, uint64_t key, void* value, matching_entry_type_t type);
  LCI_NOINLINE static void* take_elsewhere(bucket& b, uint64_t key, matching_entry_type_t type);
  LCI_COLD static size_t filter(bucket& b, int q, const entry_test& wanted);
  /// Returns false if the key is not in the overflow and is not to be added either.
  LCI_COLD static bool insert_overflow(bucket& b, uint64_t key, void* value, matching_entry_type_t type, void*& match,
                                       bool new_key);
  LCI_COLD static void* take_overflow(bucket& b, uint64_t key, matching_entry_type_t type);

  /// Marks a bucket's group as written, so that a visit of all buckets skips untouched memory.
  /// R2: pairs with A2 in remove_if(); sequentially consistent: a thread that inserts an entry then checks
  /// for a reason to remove it (such as a failed peer), and a thread that removes entries publishes the reason first.
  void touch(const bucket& b) {
    auto& t = touched_[static_cast<size_t>(&b - buckets_) / group_size];
    if (LCI_UNLIKELY(!t.load(std::memory_order_acquire))) t.store(true, std::memory_order_seq_cst);
  }

  bucket* buckets_ = nullptr;
  std::atomic<bool> touched_[n_buckets / group_size] = {};
  std::atomic<matching_engine*> of_user_{nullptr};  // owned
};

inline void* matching_engine::pop(bucket& b, int q) {
  if (b.count[q] == many) return pop_many(b, q);
  void* oldest = b.first[q];
  if (--b.count[q] > 0) b.first[q] = b.second[q];
  return oldest;
}

inline void matching_engine::push(bucket& b, int q, void* value) {
  if (b.count[q] == many) {
    b.more[q]->push(value);
  } else if (b.count[q] == 1) {
    b.second[q] = value;
    b.count[q] = 2;
  } else {
    push_third(b, q, value);
  }
}

inline void matching_engine::begin(bucket& b, int q, uint64_t key, void* value, matching_entry_type_t type) {
  b.count[q] = 1;
  b.type[q] = static_cast<uint8_t>(type);
  b.key[q] = key;
  b.first[q] = value;
}

LCI_ALWAYS_INLINE inline bool matching_engine::try_insert(matching_entry_key_t key, void* value,
                                                          matching_entry_type_t type) {
  bucket& b = bucket_of(key);
  if (LCI_UNLIKELY(!b.lock.try_lock())) return false;
  bool inserted = false;
  if (b.count[0] == 0) {
    if (LCI_LIKELY((b.count[1] | b.count[2]) == 0 && b.overflow == nullptr)) {
      begin(b, 0, key, value, type);
      touch(b);
      inserted = true;
    }
  } else if (LCI_LIKELY(b.key[0] == key && b.type[0] == static_cast<uint8_t>(type))) {
    if (b.count[0] == many) {
      inserted = b.more[0]->try_push(value);
    } else if (b.count[0] == 1) {
      b.second[0] = value;
      b.count[0] = 2;
      inserted = true;
    } else if (b.more[0] != nullptr && b.more[0]->try_push(b.second[0])) {  // kept from before
      b.count[0] = many;
      inserted = b.more[0]->try_push(value);
    }
  }
  b.lock.unlock();
  return inserted;
}

LCI_ALWAYS_INLINE inline void* matching_engine::try_take(matching_entry_key_t key, matching_entry_type_t type) const {
  bucket& b = bucket_of(key);
  if (LCI_UNLIKELY(!b.lock.try_lock())) return nullptr;
  void* oldest = nullptr;
  if (LCI_LIKELY(b.count[0] != 0 && b.key[0] == key && b.type[0] == static_cast<uint8_t>(type))) {
    if (b.count[0] == many) {
      entry_queue& more = *b.more[0];
      const bool last = more.size() == 1;
      if (LCI_LIKELY(!last || more.capacity() <= most_kept)) {
        oldest = b.first[0];
        b.first[0] = more.pop();
        if (last) b.count[0] = 1;
      }
    } else {
      oldest = b.first[0];
      if (--b.count[0] > 0) b.first[0] = b.second[0];
    }
  }
  b.lock.unlock();
  return oldest;
}

inline void* matching_engine::insert(matching_entry_key_t key, void* value, matching_entry_type_t type) {
  bucket& b = bucket_of(key);
  std::lock_guard guard(b.lock);
  if (b.count[0] == 0) {
    if (LCI_LIKELY((b.count[1] | b.count[2]) == 0 && b.overflow == nullptr)) {
      begin(b, 0, key, value, type);
      touch(b);
      return nullptr;
    }
  } else if (LCI_LIKELY(b.key[0] == key)) {
    if (b.type[0] != static_cast<uint8_t>(type)) return pop(b, 0);
    push(b, 0, value);
    return nullptr;
  }
  return insert_elsewhere(b, key, value, type);
}

inline void* matching_engine::take(matching_entry_key_t key, matching_entry_type_t type) {
  bucket& b = bucket_of(key);
  std::lock_guard guard(b.lock);
  if (LCI_LIKELY(b.count[0] != 0 && b.key[0] == key))
    return LCI_LIKELY(b.type[0] == static_cast<uint8_t>(type)) ? pop(b, 0) : nullptr;
  return take_elsewhere(b, key, type);
}

template <class F>
void matching_engine::drain(F visit) {
  for (size_t i = 0; i < n_buckets; ++i) {
    if (!touched_[i / group_size].load(std::memory_order_relaxed)) {
      i += group_size - 1;  // skips the group: `i` is its first bucket
      continue;
    }
    bucket& b = buckets_[i];
    for (int q = 0; q < n_queues; ++q) {
      const auto type = static_cast<matching_entry_type_t>(b.type[q]);
      if (b.count[q] > 0) visit(b.first[q], type);
      if (b.count[q] == 2) visit(b.second[q], type);
      if (b.more[q] == nullptr) {
        if (b.count[q] > 0) b.count[q] = 0;
        continue;
      }
      while (!b.more[q]->empty()) visit(b.more[q]->pop(), type);
      delete b.more[q];
      b.more[q] = nullptr;
      b.count[q] = 0;
    }
    if (b.overflow == nullptr) continue;
    for (auto& [key, queue] : *b.overflow)
      while (!queue.entries.empty()) visit(queue.entries.pop(), queue.type);
    delete b.overflow;
    b.overflow = nullptr;
  }
}

}  // namespace lci::core
