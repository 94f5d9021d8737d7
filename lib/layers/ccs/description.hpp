// Descriptions of data, CCS_datadesc_t: builtin ones, which are numbers, and those that constructors make.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "lib/layers/ccs/shape.hpp"

namespace ccs {

/// What a constructor has to know of a description. Bounds are those of MPI-1: markers hide the bounds of data.
struct traits {
  shape bytes;  ///< of one element
  intptr_t lower = 0, upper = 0;
  bool marks_lower = false, marks_upper = false;
  size_t alignment = 1;

  intptr_t extent() const { return upper - lower; }
};

/// A description that a constructor has made. Immutable but for the count of its users and the set of processes that
/// know it; any thread may read it.
class description {
 public:
  explicit description(traits t);
  ~description();
  description(const description&) = delete;
  description& operator=(const description&) = delete;

  const traits about;
  const uint64_t id;  ///< of all descriptions of this process; not used again

  bool is_alive() const { return magic_ == living; }
  void take() { users_.fetch_add(1, std::memory_order_relaxed); }
  /// Frees it for the last user.
  void drop() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;  // A1: pairs with itself
  }

 private:
  static constexpr uint64_t living = 0xcc5da7ade5c0ull;
  volatile uint64_t magic_ = living;  // volatile, so that the store in the destructor is not removed
  std::atomic<size_t> users_{1};
};

/// `count` elements of a description, as the arguments of a call: what is to be copied. A value; holds the description
/// until it is gone.
class layout {
 public:
  layout() = default;
  /// Prints a text for misuse, and is not valid() then. `what` names the arguments.
  layout(const char* function, const char* what, const void* buffer, size_t count, CCS_datadesc_t desc);
  layout(layout&& o) noexcept { swap(o); }
  layout& operator=(layout&& o) noexcept {
    swap(o);
    return *this;
  }
  ~layout() {
    if (kept_ != nullptr) kept_->drop();
  }

  bool valid() const { return valid_; }
  size_t size() const { return whole_.size; }
  bool is_contiguous() const { return whole_.is_contiguous(); }
  /// The address of contiguous bytes.
  uintptr_t begin() const { return base_ + static_cast<uintptr_t>(whole_.at); }
  uintptr_t base() const { return base_; }
  /// All of it, relative to base().
  const shape& whole() const { return whole_; }
  /// What it is made of: null for builtin ones.
  const description* made() const { return kept_; }
  size_t count() const { return count_; }
  /// Of a shape that no description of this process has.
  static layout of_shape(uintptr_t base, shape s);

 private:
  void swap(layout& o) noexcept;
  bool fill(const char* function, const char* what, size_t count, CCS_datadesc_t desc);

  uintptr_t base_ = 0;
  size_t count_ = 0;
  shape whole_;
  description* kept_ = nullptr;
  bool valid_ = false;
};

/// The description behind a handle that is not builtin; null if it is none, or was freed.
description* description_of(CCS_datadesc_t desc);
/// Bytes of an element of a builtin description; false for numbers that are none.
bool is_builtin(CCS_datadesc_t desc, size_t& bytes);

}  // namespace ccs
