// Layouts of non-contiguous buffers.
#pragma once

#include <cstddef>

#include "lci/config.hpp"
#include "lci/types.hpp"

namespace lci {

/// A piece of a buffer: `size` bytes, `offset` bytes from the buffer's address.
struct layout_segment_t {
  size_t offset = 0;
  size_t size = 0;
};

/// A piece of the target's memory of a put or get: `size` bytes, `offset` bytes from the start of a registration.
struct remote_segment_t {
  rmr_t rmr;
  size_t offset = 0;
  size_t size = 0;
};

/// The pieces of a buffer in the order of their bytes in the message: a list of
/// segments, or blocks at regular distances in up to max_levels dimensions. A view: the caller owns
/// the arrays. Posts copy what they need before they return.
///
/// Pieces of a buffer that is written (of a receive, of a get, at the target of a put) must not
/// overlap. The checking mode (LCI_ATTR_CHECK=1) rejects pieces that do; without it, a byte in
/// two pieces gets the content of one of them. Sums of offsets, strides and sizes must be less than 2^63.
/// For segments anywhere in memory, pass a buffer address of nullptr and
/// the segments' addresses as offsets.
class layout_t {
 public:
  /// One contiguous piece from the buffer's address on, as without a layout.
  constexpr layout_t() = default;

  /// `n` segments.
  static constexpr layout_t iovec(const layout_segment_t* segments, size_t n) {
    layout_t l;
    l.segments_ = segments;
    l.n_ = n;
    return l;
  }
  /// Blocks of counts[0] bytes: counts[1] of them strides[0] bytes apart, counts[2] times those
  /// strides[1] bytes apart, and so on. `levels` is the number of strides, at most max_levels; there is one count
  /// more. A column of a matrix of doubles: counts {8, rows}, strides {8 * columns}, levels 1.
  static constexpr layout_t strided(const size_t* counts, const size_t* strides, size_t levels) {
    layout_t l;
    l.counts_ = counts;
    l.strides_ = strides;
    l.n_ = levels;
    return l;
  }
  static constexpr size_t max_levels = 8;
  /// `n` segments of the target's memory, each with a registration of its own. Only for the `remote_layout` of a
  /// put or get, whose own `rmr` must then be RMR_NULL.
  static constexpr layout_t remote(const remote_segment_t* segments, size_t n) {
    layout_t l;
    l.remote_ = segments;
    l.n_ = n;
    return l;
  }

  constexpr bool is_contiguous() const { return segments_ == nullptr && counts_ == nullptr && remote_ == nullptr; }
  constexpr const layout_segment_t* segments() const { return segments_; }
  constexpr const remote_segment_t* remote_segments() const { return remote_; }
  constexpr const size_t* counts() const { return counts_; }
  constexpr const size_t* strides() const { return strides_; }
  /// Number of segments of a list, or of strides.
  constexpr size_t n() const { return n_; }

  /// Bytes that are moved. 0 for a contiguous layout, whose size is an argument of the post.
  constexpr size_t size() const {
    size_t sum = 0;
    if (segments_ != nullptr)
      for (size_t i = 0; i < n_; ++i) sum += segments_[i].size;
    if (remote_ != nullptr)
      for (size_t i = 0; i < n_; ++i) sum += remote_[i].size;
    if (counts_ == nullptr) return sum;
    sum = 1;
    for (size_t i = 0; i <= n_; ++i) sum *= counts_[i];
    return sum;
  }
  /// Bytes from the buffer's address to the end of the last piece in memory. 0 for remote segments.
  constexpr size_t extent() const {
    size_t end = 0;
    if (segments_ != nullptr)
      for (size_t i = 0; i < n_; ++i)
        if (segments_[i].size > 0 && end < segments_[i].offset + segments_[i].size)
          end = segments_[i].offset + segments_[i].size;
    if (counts_ == nullptr || size() == 0) return end;
    end = counts_[0];
    for (size_t i = 0; i < n_; ++i) end += (counts_[i + 1] - 1) * strides_[i];
    return end;
  }

 private:
  const layout_segment_t* segments_ = nullptr;
  const size_t* counts_ = nullptr;
  const size_t* strides_ = nullptr;
  const remote_segment_t* remote_ = nullptr;
  size_t n_ = 0;
};

}  // namespace lci
