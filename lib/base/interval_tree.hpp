// A search tree of address ranges that may overlap.
#pragma once

#include <cstdint>

namespace lci {

/// A range [begin, end), not empty. Base class of the nodes of an interval_tree; must not change while it is in one.
struct interval {
  uint64_t begin = 0, end = 0;

 private:
  friend class interval_tree;
  uint64_t last_end = 0;  // largest `end` of this node and those below it
  uint32_t priority = 0;
  interval *left = nullptr, *right = nullptr;
};

/// A treap by (begin, address), in which each node holds the largest end below it. Does not own its nodes. Not
/// thread-safe. Neither allocates nor frees memory. Every operation takes about log(size) steps.
class interval_tree {
 public:
  void insert(interval& node);
  /// `node` must be in this tree.
  void remove(interval& node);

  /// A node that contains all of [begin, end), or null.
  interval* covering(uint64_t begin, uint64_t end) const;
  /// The first node that overlaps [begin, end), or null.
  interval* overlapping(uint64_t begin, uint64_t end) const;
  bool empty() const { return root_ == nullptr; }

 private:
  static bool before(const interval& a, const interval& b) { return a.begin != b.begin ? a.begin < b.begin : &a < &b; }
  static void update(interval& node);
  static interval* insert_below(interval* root, interval& node);
  static interval* remove_below(interval* root, interval& node);
  /// Nodes before `at` go to `left`, the others to `right`.
  static void split(interval* root, const interval& at, interval*& left, interval*& right);
  /// All nodes of `left` must be before those of `right`.
  static interval* merge(interval* left, interval* right);

  interval* root_ = nullptr;
  uint32_t seed_ = 2463534242u;
};

}  // namespace lci
