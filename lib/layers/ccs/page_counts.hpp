// Counts the users of each page of a range.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/cpu.hpp"

namespace ccs {

/// The number of users of each page, stored as runs of pages with equal numbers. Not thread-safe. Ranges are
/// [first, last). The time of add() and remove() grows with the runs of a range, not with its pages.
class page_counts {
 public:
  explicit page_counts(size_t n_pages) : n_(n_pages), runs_{{0, 0}} {}

  size_t pages() const { return n_; }
  /// The number of pages that have users.
  size_t used() const { return used_; }
  uint32_t at(size_t page) const { return runs_[index_of(page)].users; }
  bool has_unused(size_t first, size_t last) const {
    if (LCI_LIKELY(runs_.size() == 1)) return runs_[0].users == 0;
    for (size_t i = index_of(first); i < runs_.size() && runs_[i].first < last; ++i)
      if (runs_[i].users == 0) return true;
    return false;
  }
  /// Allocates the memory of the next add() or remove(). Throws std::bad_alloc.
  void prepare() {
    if (LCI_UNLIKELY(runs_.capacity() < runs_.size() + 2)) runs_.reserve(2 * (runs_.size() + 2));
  }
  void add(size_t first, size_t last) noexcept { change(first, last, 1); }
  /// Each page of the range must have a user.
  void remove(size_t first, size_t last) noexcept { change(first, last, ~uint32_t{0}); }
  /// Returns a copy of the counts of a range. Throws std::bad_alloc.
  page_counts part(size_t first, size_t last) const {
    page_counts all(last - first);
    all.runs_.clear();
    for (size_t i = index_of(first); i < runs_.size() && runs_[i].first < last; ++i) {
      all.runs_.push_back({std::max(runs_[i].first, first) - first, runs_[i].users});
      if (runs_[i].users > 0) all.used_ += std::min(end_of(i), last) - std::max(runs_[i].first, first);
    }
    return all;
  }

 private:
  struct run {
    size_t first;
    uint32_t users;
  };

  size_t end_of(size_t i) const { return i + 1 < runs_.size() ? runs_[i + 1].first : n_; }
  /// The index of the run that contains a page.
  size_t index_of(size_t page) const {
    const auto behind = std::upper_bound(runs_.begin(), runs_.end(), page,
                                         [](size_t wanted, const run& r) { return wanted < r.first; });
    return static_cast<size_t>(behind - runs_.begin()) - 1;
  }
  /// The index of the run that begins with the page. Splits the run that contains the page if necessary.
  size_t split(size_t page) noexcept {
    if (page == n_) return runs_.size();
    const size_t i = index_of(page);
    if (runs_[i].first == page) return i;
    runs_.insert(runs_.begin() + static_cast<ptrdiff_t>(i) + 1, {page, runs_[i].users});
    return i + 1;
  }
  void change(size_t first, size_t last, uint32_t by) noexcept {
    if (first == last) return;
    if (LCI_LIKELY(runs_.size() == 1 && first == 0 && last == n_)) {
      runs_[0].users += by;
      used_ = runs_[0].users > 0 ? n_ : 0;
      return;
    }
    const size_t begin = split(first), end = split(last);
    for (size_t i = begin; i < end; ++i) {
      const size_t n = end_of(i) - runs_[i].first;
      if (runs_[i].users > 0) used_ -= n;
      runs_[i].users += by;
      if (runs_[i].users > 0) used_ += n;
    }
    const auto from = runs_.begin() + static_cast<ptrdiff_t>(begin > 0 ? begin - 1 : 0);
    runs_.erase(std::unique(from, runs_.end(), [](const run& a, const run& b) { return a.users == b.users; }),
                runs_.end());
  }

  size_t n_, used_ = 0;
  std::vector<run> runs_;  // the first one begins with page 0; adjacent runs differ
};

}  // namespace ccs
