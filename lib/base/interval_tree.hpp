// Ranges of addresses that may overlap, and the questions one asks of them.
#pragma once

#include <cstdint>

namespace lci {

/// A range [begin, end), not empty. Base of what an interval_tree holds; not changed while it is in one.
struct interval {
  uint64_t begin = 0, end = 0;

 private:
  friend class interval_tree;
  uint64_t last_end = 0;  // largest `end` of this node and those below it
  uint32_t priority = 0;
  interval *left = nullptr, *right = nullptr;
};

/// A treap by (begin, address), in which each node knows the largest end below it. Owns nothing and
/// allocates nothing: it can be used where memory must not be freed. Every operation takes about
/// log(size) steps. Not thread-safe.
class interval_tree {
 public:
  void insert(interval& node);
  /// `node` must be in this tree.
  void remove(interval& node);

  /// One that contains all of [begin, end), or null.
  interval* covering(uint64_t begin, uint64_t end) const;
  /// The first of those that have a byte of [begin, end), or null.
  interval* overlapping(uint64_t begin, uint64_t end) const;
  bool empty() const { return root_ == nullptr; }

 private:
  static bool before(const interval& a, const interval& b) {
    return a.begin != b.begin ? a.begin < b.begin : &a < &b;
  }
  static void update(interval& node);
  static interval* insert_below(interval* root, interval& node);
  static interval* remove_below(interval* root, interval& node);
  /// Those before `at` go left, the others right.
  static void split(interval* root, const interval& at, interval*& left, interval*& right);
  /// All of `left` are before those of `right`.
  static interval* merge(interval* left, interval* right);

  interval* root_ = nullptr;
  uint32_t seed_ = 2463534242u;
};

}  // namespace lci
