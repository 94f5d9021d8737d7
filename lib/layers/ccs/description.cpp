#include "lib/layers/ccs/description.hpp"

#include <memory>
#include <utility>

#include "lib/base/cpu.hpp"
#include "lib/layers/ccs/known_shapes.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/common/number_table.hpp"

namespace ccs {

namespace {

std::atomic<uint64_t> next_id{1};

/// Systems map no memory of programs below this address, so that null pointers are noticed.
constexpr intptr_t lowest_address = 65536;

using description_table = layers::number_table<description>;

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
  all_descriptions().add(d.get());
  return static_cast<CCS_datadesc_t>(d.release()->number);
}

bool description::free(CCS_datadesc_t handle) {
  if (handle <= CCS_DATA_LAST) return false;
  description* const d = all_descriptions().remove(static_cast<uint64_t>(handle));
  if (d == nullptr) return false;
  d->drop();
  return true;
}

description* description_of(CCS_datadesc_t desc) {
  return desc <= CCS_DATA_LAST ? nullptr : all_descriptions().find(static_cast<uint64_t>(desc));
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

layout::layout(const char* function, const argument_names& names, const void* buffer, size_t count, CCS_datadesc_t desc)
    : base_(reinterpret_cast<uintptr_t>(buffer)), count_(count) {
  valid_ = fill(function, names, count, desc);
}

bool layout::fill(const char* function, const argument_names& names, size_t count, CCS_datadesc_t desc) {
  size_t bytes = 0;
  if (LCI_LIKELY(is_builtin(desc, bytes))) {
    size_t size = 0;
    if (__builtin_mul_overflow(count, bytes, &size) || size > PTRDIFF_MAX) {
      (void)refuse(function, "%s = %zu elements of %zu bytes, which no memory can hold", names.count, count, bytes);
      return false;
    }
    if (LCI_UNLIKELY(base_ == 0 && size > 0)) {
      (void)refuse(function, "%s is NULL, but %s = %zu: give an address, or no data", names.buffer, names.count, count);
      return false;
    }
    whole_ = make_run(0, size);
    return true;
  }
  description* const d = description_of(desc);
  if (d == nullptr) {
    (void)refuse(function, "%s = 0x%llx is no description of data, or was freed", names.description,
                 static_cast<unsigned long long>(desc));
    return false;
  }
  size_t size = 0;
  intptr_t last = 0;
  if (__builtin_mul_overflow(count, d->about.bytes.size, &size) || size > PTRDIFF_MAX ||
      __builtin_mul_overflow(static_cast<intptr_t>(count), d->about.extent(), &last)) {
    (void)refuse(function, "%s = %zu elements of %zu bytes, which no memory can hold", names.count, count,
                 d->about.bytes.size);
    return false;
  }
  d->take();
  kept_ = d;
  whole_ = make_loop(count, d->about.extent(), d->about.bytes);
  // NULL is the right buffer for a description that consists of absolute addresses.
  if (LCI_UNLIKELY(base_ == 0 && whole_.size > 0)) {
    const intptr_t lowest = span_of(whole_).begin;
    if (lowest < lowest_address) {
      (void)refuse(function,
                   "%s is NULL, but the data of %s begins %td bytes after it: give an address, or absolute "
                   "displacements",
                   names.buffer, names.description, lowest);
      return false;
    }
  }
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
