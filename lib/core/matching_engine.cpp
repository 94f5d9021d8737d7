#include "lib/core/matching_engine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>

#include "lib/base/check.hpp"

namespace lci::core {

matching_engine::matching_engine(const matching_engine_attr_t& a) : attr(a) {
  // Fresh anonymous memory is zero, which is a bucket with nothing in it.
  void* p = mmap(nullptr, n_buckets * sizeof(bucket), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw resource_error("alloc_matching_engine: no address space left");
  buckets_ = static_cast<bucket*>(p);
}

matching_engine::~matching_engine() {
  drain([](void*, matching_entry_type_t) {});
  munmap(buckets_, n_buckets * sizeof(bucket));
}

void* matching_engine::insert(matching_entry_key_t key, void* value, matching_entry_type_t type) {
  bucket& b = bucket_of(key);
  std::lock_guard guard(b.lock);

  int free_queue = -1;
  for (int q = 0; q < n_queues; ++q) {
    if (b.count[q] == 0) {
      free_queue = q;
      continue;
    }
    if (b.key[q] != key) continue;
    if (b.type[q] != static_cast<uint8_t>(type)) {
      void* match = b.first[q];
      if (--b.count[q] > 0) b.first[q] = b.second[q];
      return match;
    }
    if (b.count[q] == 1) {
      b.second[q] = value;
      b.count[q] = 2;
      return nullptr;
    }
    // A third entry: the whole queue moves, so that a key is always in one place.
    if (b.overflow == nullptr) b.overflow = new overflow_map;
    (*b.overflow)[key] = {type, {b.first[q], b.second[q], value}};
    b.count[q] = 0;
    return nullptr;
  }

  if (LCI_UNLIKELY(b.overflow != nullptr)) {
    auto it = b.overflow->find(key);
    if (it != b.overflow->end()) {
      queue& queue = it->second;
      if (queue.type == type) {
        queue.entries.push_back(value);
        return nullptr;
      }
      void* match = queue.entries.front();
      queue.entries.pop_front();
      if (queue.entries.empty()) b.overflow->erase(it);
      return match;
    }
  }
  if (LCI_LIKELY(free_queue >= 0)) {
    b.count[free_queue] = 1;
    b.type[free_queue] = static_cast<uint8_t>(type);
    b.key[free_queue] = key;
    b.first[free_queue] = value;
  } else {
    if (b.overflow == nullptr) b.overflow = new overflow_map;
    (*b.overflow)[key] = {type, {value}};
  }
  touch(b);
  return nullptr;
}

void* matching_engine::take(matching_entry_key_t key, matching_entry_type_t type) {
  bucket& b = bucket_of(key);
  std::lock_guard guard(b.lock);
  for (int q = 0; q < n_queues; ++q) {
    if (b.count[q] == 0 || b.key[q] != key) continue;
    if (b.type[q] != static_cast<uint8_t>(type)) return nullptr;
    void* match = b.first[q];
    if (--b.count[q] > 0) b.first[q] = b.second[q];
    return match;
  }
  if (LCI_LIKELY(b.overflow == nullptr)) return nullptr;
  auto it = b.overflow->find(key);
  if (it == b.overflow->end() || it->second.type != type) return nullptr;
  void* match = it->second.entries.front();
  it->second.entries.pop_front();
  if (it->second.entries.empty()) b.overflow->erase(it);
  return match;
}

bool matching_engine::remove(matching_entry_key_t key, void* value, matching_entry_type_t type) {
  bucket& b = bucket_of(key);
  std::lock_guard guard(b.lock);
  for (int q = 0; q < n_queues; ++q) {
    if (b.count[q] == 0 || b.key[q] != key || b.type[q] != static_cast<uint8_t>(type)) continue;
    if (b.first[q] == value) {
      if (--b.count[q] > 0) b.first[q] = b.second[q];
      return true;
    }
    if (b.count[q] == 2 && b.second[q] == value) {
      b.count[q] = 1;
      return true;
    }
  }
  if (b.overflow == nullptr) return false;
  auto it = b.overflow->find(key);
  if (it == b.overflow->end() || it->second.type != type) return false;
  auto& entries = it->second.entries;
  auto at = std::find(entries.begin(), entries.end(), value);
  if (at == entries.end()) return false;
  entries.erase(at);
  if (entries.empty()) b.overflow->erase(it);
  return true;
}

}  // namespace lci::core
