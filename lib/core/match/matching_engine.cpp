#include "lib/core/match/matching_engine.hpp"

#include <sys/mman.h>

#include <iterator>
#include <memory>
#include <mutex>

#include "lib/base/check.hpp"

namespace lci::core {

matching_engine::matching_engine(const matching_engine_attr_t& a) : attr(a) {
  // Fresh anonymous memory is zero, which is an empty bucket.
  void* p = mmap(nullptr, n_buckets * sizeof(bucket), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw resource_error("alloc_matching_engine: no address space left");
  buckets_ = static_cast<bucket*>(p);
}

matching_engine::~matching_engine() {
  drain([](void*, matching_entry_type_t) {});
  delete of_user_.load(std::memory_order_relaxed);
  munmap(buckets_, n_buckets * sizeof(bucket));
}

matching_engine& matching_engine::of_user() {
  matching_engine* table = of_user_.load(std::memory_order_acquire);  // A1: pairs with R1
  if (LCI_LIKELY(table != nullptr)) return *table;
  auto made = std::make_unique<matching_engine>(attr);
  // R1: a thread that finds it sees it constructed. Another thread may have been first.
  if (of_user_.compare_exchange_strong(table, made.get(), std::memory_order_acq_rel, std::memory_order_acquire))
    table = made.release();
  return *table;
}

void* matching_engine::pop_many(bucket& b, int q) {
  void* oldest = b.first[q];
  entry_queue& more = *b.more[q];
  b.first[q] = more.pop();
  if (LCI_UNLIKELY(more.empty())) shrink(b, q);
  return oldest;
}

void matching_engine::shrink(bucket& b, int q) {
  b.count[q] = 1;
  if (b.more[q]->capacity() <= most_kept) return;
  delete b.more[q];
  b.more[q] = nullptr;
}

void matching_engine::push_third(bucket& b, int q, void* value) {
  if (b.more[q] == nullptr) b.more[q] = new entry_queue;
  b.more[q]->push(b.second[q]);
  b.count[q] = many;
  b.more[q]->push(value);
}

void* matching_engine::insert_elsewhere(bucket& b, uint64_t key, void* value, matching_entry_type_t type) {
  int free_queue = -1;
  for (int q = 0; q < n_queues; ++q) {
    if (b.count[q] == 0) {
      if (free_queue < 0) free_queue = q;  // the first: take() finds it soonest
      continue;
    }
    if (b.key[q] != key) continue;
    if (b.type[q] != static_cast<uint8_t>(type)) return pop(b, q);
    push(b, q, value);
    return nullptr;
  }
  void* match = nullptr;
  if (LCI_UNLIKELY(b.overflow != nullptr || free_queue < 0) &&
      insert_overflow(b, key, value, type, match, free_queue < 0))
    return match;
  begin(b, free_queue, key, value, type);
  touch(b);
  return nullptr;
}

bool matching_engine::insert_overflow(bucket& b, uint64_t key, void* value, matching_entry_type_t type, void*& match,
                                      bool new_key) {
  if (b.overflow == nullptr) b.overflow = new overflow_map;
  auto it = b.overflow->find(key);
  if (it == b.overflow->end()) {
    if (!new_key) return false;
    it = b.overflow->try_emplace(key).first;
    it->second.type = type;
  }
  if (it->second.type == type) {
    try {
      it->second.entries.push(value);
    } catch (...) {
      if (it->second.entries.empty()) b.overflow->erase(it);  // a key in the map has an entry
      throw;
    }
  } else {
    match = take_overflow(b, key, it->second.type);
  }
  return true;
}

void* matching_engine::take_overflow(bucket& b, uint64_t key, matching_entry_type_t type) {
  auto it = b.overflow->find(key);
  if (it == b.overflow->end() || it->second.type != type) return nullptr;
  void* match = it->second.entries.pop();
  if (it->second.entries.empty()) b.overflow->erase(it);
  return match;
}

void* matching_engine::take_elsewhere(bucket& b, uint64_t key, matching_entry_type_t type) {
  for (int q = 0; q < n_queues; ++q) {
    if (b.count[q] == 0 || b.key[q] != key) continue;
    return b.type[q] == static_cast<uint8_t>(type) ? pop(b, q) : nullptr;
  }
  return LCI_LIKELY(b.overflow == nullptr) ? nullptr : take_overflow(b, key, type);
}

size_t matching_engine::filter(bucket& b, int q, const entry_test& wanted) {
  // Oldest first. Allocates no memory: a cancel must not fail for lack of it.
  size_t removed = 0;
  const bool first = wanted(b.first[q]);
  if (b.count[q] == many) {
    entry_queue& more = *b.more[q];
    removed = more.remove_if(wanted);
    if (!first && more.empty()) b.count[q] = 1;
    if (first) {
      if (more.empty())
        b.count[q] = 0;
      else
        (void)pop_many(b, q);
    }
  } else if (b.count[q] == 2) {
    if (wanted(b.second[q])) {
      b.count[q] = 1;
      removed = 1;
    }
    if (first) (void)pop(b, q);
  } else if (first) {
    b.count[q] = 0;
  }
  return removed + (first ? 1 : 0);
}

size_t matching_engine::remove_if(matching_entry_key_t key, matching_entry_type_t type, const entry_test& wanted) {
  bucket& b = bucket_of(key);
  std::lock_guard guard(b.lock);
  for (int q = 0; q < n_queues; ++q) {
    if (b.count[q] == 0 || b.key[q] != key) continue;
    return b.type[q] == static_cast<uint8_t>(type) ? filter(b, q, wanted) : 0;
  }
  if (b.overflow == nullptr) return 0;
  const auto it = b.overflow->find(key);
  if (it == b.overflow->end() || it->second.type != type) return 0;
  const size_t removed = it->second.entries.remove_if(wanted);
  if (it->second.entries.empty()) b.overflow->erase(it);
  return removed;
}

size_t matching_engine::remove_if(matching_entry_type_t type, const entry_test& wanted) {
  size_t removed = 0;
  for (size_t i = 0; i < n_buckets; ++i) {
    // A2: pairs with R2 in touch()
    if (i % group_size == 0 && !touched_[i / group_size].load(std::memory_order_seq_cst)) {
      i += group_size - 1;
      continue;
    }
    bucket& b = buckets_[i];
    std::lock_guard guard(b.lock);
    for (int q = 0; q < n_queues; ++q)
      if (b.count[q] > 0 && b.type[q] == static_cast<uint8_t>(type)) removed += filter(b, q, wanted);
    if (b.overflow == nullptr) continue;
    for (auto it = b.overflow->begin(); it != b.overflow->end();) {
      if (it->second.type == type) removed += it->second.entries.remove_if(wanted);
      it = it->second.entries.empty() ? b.overflow->erase(it) : std::next(it);
    }
  }
  return removed;
}

}  // namespace lci::core
