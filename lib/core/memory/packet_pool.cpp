#include "lib/core/memory/packet_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "lib/base/check.hpp"

namespace lci::core {

namespace {

constexpr size_t fresh_batch = 16;

/// Xorshift, with state per thread: choosing a victim needs no quality, but must not share memory.
size_t random_number() {
  static thread_local uint64_t x = 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(thread_index());
  x ^= x << 13;
  x ^= x >> 7;
  return x ^= x << 17;
}

}  // namespace

packet_pool::packet_pool(const packet_pool_attr_t& a) : attr(a) {
  constexpr size_t min_size = 4 * cache_line;
  if (attr.packet_size < min_size || attr.packet_size % cache_line != 0)
    throw_invalid("alloc_packet_pool", "packet_size", std::to_string(attr.packet_size),
                  "a multiple of 64, at least 256 bytes");
  if (attr.npackets == 0) throw_invalid("alloc_packet_pool", "npackets", "0", "at least 1");
  // Packets an even number of cache lines apart would share few cache sets: at 8 KiB, all first lines would map to
  // one set.
  stride_ = attr.packet_size / cache_line % 2 == 0 ? attr.packet_size + cache_line : attr.packet_size;
  if (stride_ / cache_line >= multiples::end)
    throw_invalid("alloc_packet_pool", "packet_size", std::to_string(attr.packet_size), "less than 256 GiB");
  strides_ = multiples(static_cast<uint32_t>(stride_ / cache_line));
  if (__builtin_mul_overflow(stride_, attr.npackets, &arena_size_))
    throw_invalid("alloc_packet_pool", "npackets", std::to_string(attr.npackets),
                  "as many as there is address space for", "lower LCI_ATTR_NPACKETS");
  void* p = mmap(nullptr, arena_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw resource_error("alloc_packet_pool: can't reserve " + std::to_string(arena_size_) +
                         " bytes of address space: " + std::strerror(errno) + "; lower LCI_ATTR_NPACKETS");
  arena_ = static_cast<std::byte*>(p);
}

packet_pool::~packet_pool() {
  for (size_t i = 0; i < deques_.size(); ++i) delete deques_.get(i);
  if (arena_ != nullptr) munmap(arena_, arena_size_);
}

void packet_pool::deque::grow() {
  const size_t n = size();
  const size_t bigger = std::max<size_t>(64, 2 * (mask + 1));
  auto moved = std::make_unique<packet*[]>(bigger);
  for (size_t i = 0; i < n; ++i) moved[i] = ring[(head + i) & mask];
  ring = std::move(moved);
  mask = bigger - 1;
  head = 0;
  tail = n;
}

packet_pool::deque& packet_pool::local() {
  // Only the last index is shared by several threads, but the lock costs nothing here.
  const auto index = static_cast<size_t>(thread_index());
  if (deque* const there = deques_.get(index)) return *there;
  std::lock_guard guard(create_lock_);
  if (deques_.get(index) == nullptr) {
    auto made = std::make_unique<deque>();
    deques_.put(index, made.get());
    (void)made.release();
  }
  return *deques_.get(index);
}

packet* packet_pool::get_slowly() noexcept {
  try {
    deque& mine = local();
    {
      std::lock_guard guard(mine.lock);
      if (mine.size() > 0) return mine.pop();
    }
    if (packet* const p = take_spare()) return p;
    return refill(mine);
  } catch (const std::bad_alloc&) {
    return take_spare();
  }
}

void packet_pool::put_slowly(packet* p) noexcept {
  try {
    deque& mine = local();
    std::lock_guard guard(mine.lock);
    store_in(mine, p);
  } catch (const std::bad_alloc&) {
    keep_spare(p);
  }
}

void packet_pool::store_in(deque& mine, packet* p) noexcept {
  try {
    mine.push_or_grow(p);
  } catch (const std::bad_alloc&) {
    keep_spare(p);
  }
}

void packet_pool::keep_spare(packet* p) {
  std::lock_guard guard(spare_lock_);
  p->next_spare = spare_;
  spare_ = p;
  has_spare_.store(true, std::memory_order_relaxed);
}

packet* packet_pool::take_spare() {
  if (LCI_LIKELY(!has_spare_.load(std::memory_order_relaxed))) return nullptr;
  std::lock_guard guard(spare_lock_);
  packet* const p = spare_;
  if (p != nullptr) spare_ = p->next_spare;
  has_spare_.store(spare_ != nullptr, std::memory_order_relaxed);
  return p;
}

packet* packet_pool::get() noexcept { return get_inline(); }

void packet_pool::put(packet* p) noexcept { put_inline(p); }

packet* packet_pool::refill(deque& mine) noexcept {
  size_t first = fresh_.load(std::memory_order_relaxed);
  while (first < attr.npackets) {
    const size_t n = std::min(fresh_batch, attr.npackets - first);
    if (!fresh_.compare_exchange_weak(first, first + n, std::memory_order_relaxed)) continue;
    std::lock_guard guard(mine.lock);
    const auto make = [&](size_t i) {
      auto* p = new (arena_ + i * stride_) packet;
      p->pool = this;
      return p;
    };
    for (size_t i = first + 1; i < first + n; ++i) store_in(mine, make(i));
    return make(first);
  }
  // One victim only: get() on an empty pool must return quickly.
  const size_t n = deques_.size();
  size_t start = random_number() % n;
  for (size_t i = 0; i < n; ++i) {
    deque* victim = deques_.get((start + i) % n);
    if (victim == nullptr || victim == &mine) continue;
    packet* stolen[64];
    size_t taken = 0;
    {
      if (!victim->lock.try_lock()) return nullptr;
      std::lock_guard guard(victim->lock, std::adopt_lock);
      if (victim->size() == 0) continue;
      taken = std::min<size_t>((victim->size() + 1) / 2, std::size(stolen));
      for (size_t k = 0; k < taken; ++k) stolen[k] = victim->pop_head();
    }
    std::lock_guard guard(mine.lock);
    for (size_t k = 1; k < taken; ++k) store_in(mine, stolen[k]);
    return stolen[0];
  }
  return nullptr;
}

size_t packet_pool::home() const {
  size_t n = attr.npackets - std::min(attr.npackets, fresh_.load(std::memory_order_relaxed));
  for (size_t i = 0; i < deques_.size(); ++i) {
    if (const deque* d = deques_.get(i)) {
      std::lock_guard guard(d->lock);
      n += d->size();
    }
  }
  std::lock_guard guard(spare_lock_);
  for (const packet* p = spare_; p != nullptr; p = p->next_spare) ++n;
  return n;
}

bool packet_pool::is_free(const packet* p) const {
  const size_t index = (reinterpret_cast<const std::byte*>(p) - arena_) / stride_;
  if (index >= fresh_.load(std::memory_order_relaxed)) return true;
  for (size_t i = 0; i < deques_.size(); ++i) {
    if (const deque* d = deques_.get(i)) {
      std::lock_guard guard(d->lock);
      for (size_t at = d->head; at != d->tail; ++at)
        if (d->ring[at & d->mask] == p) return true;
    }
  }
  std::lock_guard guard(spare_lock_);
  for (const packet* spare = spare_; spare != nullptr; spare = spare->next_spare)
    if (spare == p) return true;
  return false;
}

}  // namespace lci::core
