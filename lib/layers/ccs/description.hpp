// Data descriptions, CCS_datadesc_t. A handle is either a builtin number, or the number of a description that a
// constructor has created.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "lib/layers/ccs/shape.hpp"

namespace ccs {

/// The properties of a description that constructors use. Bounds are as in MPI-1: a marker replaces the bound that
/// follows from the data.
struct traits {
  shape bytes;  ///< of one element
  intptr_t lower = 0, upper = 0;
  bool marks_lower = false, marks_upper = false;
  size_t alignment = 1;

  intptr_t extent() const { return upper - lower; }
};

/// A description that a constructor has created. Reference-counted: the program's handle and each operation that uses
/// it hold a reference. Immutable, except for the count; any thread may read it.
class description {
 public:
  /// Creates a description and returns its handle, which holds a reference. Throws std::bad_alloc.
  static CCS_datadesc_t make(traits t);
  /// Invalidates the handle and releases its reference. Returns false if it is not the handle of a description.
  static bool free(CCS_datadesc_t handle);

  explicit description(traits t);
  ~description();
  description(const description&) = delete;
  description& operator=(const description&) = delete;

  const traits about;
  const uint64_t id;    ///< unique among the descriptions of this process, and never reused
  uint64_t number = 0;  ///< the program's handle; set by make()

  void take() { users_.fetch_add(1, std::memory_order_relaxed); }
  /// Releases a reference. The last release frees the description.
  void drop() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;  // A1: pairs with other threads' drop()
  }

 private:
  std::atomic<size_t> users_{1};
};

/// What a function calls the arguments that a layout is made from, for its lines about misuse.
struct argument_names {
  const char *buffer, *count, *description;
};
inline constexpr argument_names only_side{"buf", "count", "datadesc"};
inline constexpr argument_names source_side{"src_buf", "src_count", "src_datadesc"};
inline constexpr argument_names dest_side{"dest_buf", "dest_count", "dest_datadesc"};

/// A buffer, a count and a description: the data that a call reads or writes. A value that holds a reference to the
/// description.
class layout {
 public:
  layout() = default;
  /// Prints a line for misuse; then valid() is false. Keeps no reference to the names.
  layout(const char* function, const argument_names& names, const void* buffer, size_t count, CCS_datadesc_t desc);
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
  /// The shape of all elements, relative to base().
  const shape& whole() const { return whole_; }
  /// The description; null if it is builtin.
  const description* made() const { return kept_; }
  size_t count() const { return count_; }
  /// A layout from a shape, which another process has sent.
  static layout of_shape(uintptr_t base, shape s);

 private:
  void swap(layout& o) noexcept;
  bool fill(const char* function, const argument_names& names, size_t count, CCS_datadesc_t desc);

  uintptr_t base_ = 0;
  size_t count_ = 0;
  shape whole_;
  description* kept_ = nullptr;
  bool valid_ = false;
};

/// The description behind a handle that is not builtin; null if the handle is invalid or was freed. Reads no memory
/// that an invalid handle could point to.
description* description_of(CCS_datadesc_t desc);
/// Sets `bytes` to the size of an element of a builtin description. Returns false if the handle is not builtin.
bool is_builtin(CCS_datadesc_t desc, size_t& bytes);

}  // namespace ccs
