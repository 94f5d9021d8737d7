// Iterating over the pieces of a layout, and copying a layout.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lci/layout.hpp"
#include "lib/base/copy_bytes.hpp"

namespace lci::core {

/// Iterates over the contiguous runs of a buffer. The layout must not change meanwhile. Not thread-safe.
class layout_cursor {
 public:
  /// `size`: in bytes, used only if the buffer is contiguous.
  layout_cursor(const layout_t& layout, size_t size) : layout_(&layout) {
    if (layout.is_contiguous()) {
      left_ = size;
    } else if (layout.segments() != nullptr || layout.remote_segments() != nullptr) {
      enter_segment();
    } else if (layout.size() > 0) {
      left_ = layout.counts()[0];
    }
  }

  /// Contiguous bytes from the current position on; 0 at the end.
  size_t run() const { return left_; }
  /// The current position, in bytes from the buffer's address.
  size_t offset() const { return offset_; }
  /// Of remote segments, the registration that offset() is relative to; null: the post's.
  const rmr_t* rmr() const {
    return layout_->remote_segments() == nullptr ? nullptr : &layout_->remote_segments()[index_[0]].rmr;
  }
  /// Advances by `n` bytes, at most run().
  void advance(size_t n) {
    offset_ += n;
    left_ -= n;
    if (left_ > 0 || layout_->is_contiguous()) return;
    if (layout_->counts() == nullptr) {
      ++index_[0];
      enter_segment();
    } else {
      enter_block();
    }
  }
  /// Moves to byte `position` of the message, which must be less than its size.
  /// For a list of segments, `starts` has the position of each segment in the message.
  void seek(size_t position, const std::vector<size_t>& starts) {
    if (layout_->is_contiguous()) return advance(position);
    if (layout_->segments() != nullptr) {
      const auto next = std::upper_bound(starts.begin(), starts.end(), position);
      index_[0] = static_cast<size_t>(next - starts.begin()) - 1;
      enter_segment();
      return advance(position - starts[index_[0]]);
    }
    size_t block = position / layout_->counts()[0];
    offset_ = 0;
    for (size_t i = 0; i < layout_->n(); ++i) {
      index_[i] = block % layout_->counts()[i + 1];
      block /= layout_->counts()[i + 1];
      offset_ += index_[i] * layout_->strides()[i];
    }
    left_ = layout_->counts()[0];
    advance(position % layout_->counts()[0]);
  }

 private:
  void enter_segment() {
    if (layout_->remote_segments() != nullptr) return enter_remote_segment();
    while (index_[0] < layout_->n() && layout_->segments()[index_[0]].size == 0) ++index_[0];
    if (index_[0] == layout_->n()) return;
    offset_ = layout_->segments()[index_[0]].offset;
    left_ = layout_->segments()[index_[0]].size;
  }
  void enter_remote_segment() {
    const remote_segment_t* s = layout_->remote_segments();
    while (index_[0] < layout_->n() && s[index_[0]].size == 0) ++index_[0];
    if (index_[0] == layout_->n()) return;
    offset_ = s[index_[0]].offset;
    left_ = s[index_[0]].size;
  }
  void enter_block() {
    block_offset_ = 0;
    bool carry = true;
    for (size_t i = 0; i < layout_->n(); ++i) {
      if (carry && ++index_[i] == layout_->counts()[i + 1])
        index_[i] = 0;
      else
        carry = false;
      block_offset_ += index_[i] * layout_->strides()[i];
    }
    if (carry) return;  // no block is left
    offset_ = block_offset_;
    left_ = layout_->counts()[0];
  }

  const layout_t* layout_;
  size_t offset_ = 0, left_ = 0, block_offset_ = 0;
  std::array<size_t, layout_t::max_levels> index_{};  // [0]: of the segment
};

/// Calls f(offset in one, offset in the other, bytes) for all runs that are contiguous in both.
template <class F>
void for_each_run(layout_cursor one, layout_cursor other, F f) {
  for (size_t n; (n = std::min(one.run(), other.run())) > 0;) {
    f(one.offset(), other.offset(), n);
    one.advance(n);
    other.advance(n);
  }
}

/// Copies between buffers of these layouts, up to the size of the shorter.
inline void copy_layout(void* to, const layout_cursor& to_layout, const void* from, const layout_cursor& from_layout) {
  for_each_run(to_layout, from_layout, [&](size_t t, size_t f, size_t n) {
    // An address may be an offset from nullptr. In a put or get to this rank itself the pieces may overlap.
    move_bytes(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(to) + t),
               reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + f), n);
  });
}

/// A copy of a layout that owns its arrays.
class kept_layout {
 public:
  /// Null: contiguous.
  explicit kept_layout(const layout_t* l) {
    if (l == nullptr || l->is_contiguous()) return;
    if (l->segments() != nullptr) {
      segments_.assign(l->segments(), l->segments() + l->n());
      starts_.reserve(segments_.size());
      size_t sum = 0;
      for (const layout_segment_t& s : segments_) {
        starts_.push_back(sum);
        sum += s.size;
      }
      view_ = layout_t::iovec(segments_.data(), segments_.size());
    } else if (l->remote_segments() != nullptr) {
      remote_.assign(l->remote_segments(), l->remote_segments() + l->n());
      view_ = layout_t::remote(remote_.data(), remote_.size());
    } else {
      numbers_.assign(l->counts(), l->counts() + l->n() + 1);
      numbers_.insert(numbers_.end(), l->strides(), l->strides() + l->n());
      view_ = layout_t::strided(numbers_.data(), numbers_.data() + l->n() + 1, l->n());
    }
  }
  kept_layout(const kept_layout&) = delete;
  kept_layout& operator=(const kept_layout&) = delete;

  const layout_t& view() const { return view_; }

  /// Copies `n` bytes of the message, from `position` on, out of (gather) or into (scatter) the buffer at `base`.
  void gather(void* to, const void* base, size_t position, size_t n) const {
    if (n > 0) copy_layout(to, layout_cursor(layout_t(), n), base, at(position));
  }
  void scatter(void* base, size_t position, const void* from, size_t n) const {
    if (n > 0) copy_layout(base, at(position), from, layout_cursor(layout_t(), n));
  }

 private:
  layout_cursor at(size_t position) const {
    layout_cursor c(view_, 0);
    c.seek(position, starts_);
    return c;
  }

  std::vector<layout_segment_t> segments_;
  std::vector<remote_segment_t> remote_;
  std::vector<size_t> starts_;   // position of each segment in the message
  std::vector<size_t> numbers_;  // counts, then strides
  layout_t view_;
};

}  // namespace lci::core
