// Where the bytes of a message lie in a buffer that is not one piece.
#pragma once

#include <cstddef>

#include "lci/config.hpp"
#include "lci/types.hpp"

namespace lci {

/// A piece of a buffer: so many bytes, at this distance from the buffer's address.
struct layout_segment_t {
  size_t offset = 0;
  size_t size = 0;
};

/// A piece of memory of the target of a put or get: so many bytes, at this distance from the first byte of a
/// registration.
struct remote_segment_t {
  rmr_t rmr;
  size_t offset = 0;
  size_t size = 0;
};

/// The pieces of a buffer in the order in which a message takes or gives their bytes: a list of
/// segments, or blocks at regular distances in any number of dimensions. A view: the arrays remain
/// the caller's. Posts copy what they need before they return.
///
/// Pieces of a buffer that is written (of a receive, of a get, at the target of a put) must not
/// overlap. The checking mode (LCI_ATTR_CHECK=1) refuses pieces that do; without it, a byte that is in
/// two pieces gets the content of one of them. Offsets, strides and sizes are not negative, and their
/// sums are less than 2^63. A list of segments anywhere in memory has a buffer address of nullptr and
/// the segments' addresses as offsets.
class layout_t {
 public:
  /// One piece from the buffer's address on: as without a layout.
  constexpr layout_t() = default;

  /// `n` segments.
  static constexpr layout_t iovec(const layout_segment_t* segments, size_t n) {
    layout_t l;
    l.segments_ = segments;
    l.n_ = n;
    return l;
  }
  /// Blocks of counts[0] bytes: counts[1] of them strides[0] bytes apart, counts[2] times those
  /// strides[1] bytes apart, and so on: `levels` strides and one count more, at most max_levels.
  /// A matrix's column of doubles: counts {8, rows}, strides {8 * columns}, levels 1.
  static constexpr layout_t strided(const size_t* counts, const size_t* strides, size_t levels) {
    layout_t l;
    l.counts_ = counts;
    l.strides_ = strides;
    l.n_ = levels;
    return l;
  }
  static constexpr size_t max_levels = 8;
  /// `n` segments of the target's memory, each with a registration of its own: only as the `remote_layout` of a
  /// put or get, whose own `rmr` is RMR_NULL then.
  static constexpr layout_t remote(const remote_segment_t* segments, size_t n) {
    layout_t l;
    l.remote_ = segments;
    l.n_ = n;
    return l;
  }

  constexpr bool is_contiguous() const {
    return segments_ == nullptr && counts_ == nullptr && remote_ == nullptr;
  }
  constexpr const layout_segment_t* segments() const { return segments_; }
  constexpr const remote_segment_t* remote_segments() const { return remote_; }
  constexpr const size_t* counts() const { return counts_; }
  constexpr const size_t* strides() const { return strides_; }
  /// Segments of a list, or levels of strides.
  constexpr size_t n() const { return n_; }

  /// Bytes that are moved. 0 for a contiguous layout, whose size the post says.
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
  /// Bytes from the buffer's address to the end of the piece that lies furthest. 0 for remote segments.
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
