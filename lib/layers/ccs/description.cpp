#include "lib/layers/ccs/description.hpp"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/known_shapes.hpp"
#include "lib/layers/ccs/misuse.hpp"

namespace ccs {

namespace {

std::atomic<uint64_t> next_id{1};

/// The descriptions whose handles are valid, by the low half of the handle. The high half differs for descriptions that
/// have had the same place, so stale and invented handles are detected. Readers take no lock.
class description_table {
 public:
  description* find(CCS_datadesc_t handle) const {
    description* const d = all_.get(place_of(handle));
    return d != nullptr && d->handle() == handle ? d : nullptr;
  }
  template <class Set>
  void add(description* d, Set set_handle) {
    const std::lock_guard guard(lock_);
    if (free_.empty()) {
      if (free_.capacity() <= n_) free_.reserve(size_t{2} * n_ + 16);  // so that remove() allocates nothing
      free_.push_back(n_++);
    }
    const size_t place = free_.back();
    set_handle(static_cast<CCS_datadesc_t>((d->id % highest + 1) << 32 | place));
    all_.put(place, d);
    free_.pop_back();
  }
  description* remove(CCS_datadesc_t handle) {
    const std::lock_guard guard(lock_);
    description* const d = find(handle);
    if (d == nullptr) return nullptr;
    all_.put(place_of(handle), nullptr);
    free_.push_back(place_of(handle));
    return d;
  }

 private:
  static constexpr uint64_t highest = 0x7fffffff;  // of the high half: handles are positive
  static uint32_t place_of(CCS_datadesc_t handle) { return static_cast<uint32_t>(handle); }

  lci::mpmc_array<description*> all_;
  lci::spinlock lock_;
  std::vector<uint32_t> free_;  // places without a description; under lock_
  uint32_t n_ = 0;              // places that have ever been used; under lock_
};

/// Never destroyed: destructors of the program's static objects may free descriptions.
description_table& all_descriptions() {
  static description_table& one = *new description_table;
  return one;
}

}  // namespace

description::description(traits t) : about(std::move(t)), id(next_id.fetch_add(1, std::memory_order_relaxed)) {}

description::~description() { forget_shape(id); }

CCS_datadesc_t description::make(traits t) {
  auto d = std::make_unique<description>(std::move(t));
  all_descriptions().add(d.get(), [&](CCS_datadesc_t handle) { d->handle_ = handle; });
  return d.release()->handle_;
}

bool description::free(CCS_datadesc_t handle) {
  if (handle <= CCS_DATA_LAST) return false;
  description* const d = all_descriptions().remove(handle);
  if (d == nullptr) return false;
  d->drop();
  return true;
}

description* description_of(CCS_datadesc_t desc) {
  return desc <= CCS_DATA_LAST ? nullptr : all_descriptions().find(desc);
}

bool is_builtin(CCS_datadesc_t desc, size_t& bytes) {
  switch (desc) {
    case CCS_DATA_NULL:
    case CCS_DATA_LB:
    case CCS_DATA_UB:
      bytes = 0;
      return true;
    case CCS_DATA8:
    case CCS_DATA16:
    case CCS_DATA32:
    case CCS_DATA64:
    case CCS_DATA128:
      bytes = static_cast<size_t>(desc);
      return true;
    case CCS_DATA_PACKED:
      bytes = 1;
      return true;
    default:
      return false;
  }
}

layout::layout(const char* function, const char* what, const void* buffer, size_t count, CCS_datadesc_t desc)
    : base_(reinterpret_cast<uintptr_t>(buffer)), count_(count) {
  valid_ = fill(function, what, count, desc);
}

bool layout::fill(const char* function, const char* what, size_t count, CCS_datadesc_t desc) {
  size_t bytes = 0;
  if (LCI_LIKELY(is_builtin(desc, bytes))) {
    size_t size = 0;
    if (__builtin_mul_overflow(count, bytes, &size) || size > PTRDIFF_MAX) {
      (void)refuse(function, "%scount = %zu elements of %zu bytes, which no memory can hold", what, count, bytes);
      return false;
    }
    if (LCI_UNLIKELY(base_ == 0 && size > 0)) {
      (void)refuse(function, "%sbuf is NULL, but %scount = %zu: give an address, or no data", what, what, count);
      return false;
    }
    whole_ = make_run(0, size);
    return true;
  }
  description* const d = description_of(desc);
  if (d == nullptr) {
    (void)refuse(function, "%sdatadesc = 0x%llx is no description of data, or was freed", what,
                 static_cast<unsigned long long>(desc));
    return false;
  }
  size_t size = 0;
  intptr_t last = 0;
  if (__builtin_mul_overflow(count, d->about.bytes.size, &size) || size > PTRDIFF_MAX ||
      __builtin_mul_overflow(static_cast<intptr_t>(count), d->about.extent(), &last)) {
    (void)refuse(function, "%scount = %zu elements of %zu bytes, which no memory can hold", what, count,
                 d->about.bytes.size);
    return false;
  }
  // A description may contain absolute addresses, so a base of NULL is valid.
  d->take();
  kept_ = d;
  whole_ = make_loop(count, d->about.extent(), d->about.bytes);
  return true;
}

layout layout::of_shape(uintptr_t base, shape s) {
  layout l;
  l.base_ = base;
  l.count_ = 1;
  l.whole_ = std::move(s);
  l.valid_ = true;
  return l;
}

void layout::swap(layout& o) noexcept {
  std::swap(base_, o.base_);
  std::swap(count_, o.count_);
  std::swap(whole_, o.whole_);
  std::swap(kept_, o.kept_);
  std::swap(valid_, o.valid_);
}

}  // namespace ccs
