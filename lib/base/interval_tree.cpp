#include "lib/base/interval_tree.hpp"

#include <algorithm>

namespace lci {

void interval_tree::update(interval& node) {
  node.last_end = node.end;
  if (node.left != nullptr) node.last_end = std::max(node.last_end, node.left->last_end);
  if (node.right != nullptr) node.last_end = std::max(node.last_end, node.right->last_end);
}

void interval_tree::insert(interval& node) {
  seed_ ^= seed_ << 13;  // xorshift: to balance the tree, priorities need not be unpredictable
  seed_ ^= seed_ >> 17;
  seed_ ^= seed_ << 5;
  node.priority = seed_;
  node.left = node.right = nullptr;
  root_ = insert_below(root_, node);
}

interval* interval_tree::insert_below(interval* root, interval& node) {
  if (root == nullptr || node.priority > root->priority) {
    split(root, node, node.left, node.right);
    root = &node;
  } else if (before(node, *root)) {
    root->left = insert_below(root->left, node);
  } else {
    root->right = insert_below(root->right, node);
  }
  update(*root);
  return root;
}

void interval_tree::remove(interval& node) { root_ = remove_below(root_, node); }

interval* interval_tree::remove_below(interval* root, interval& node) {
  if (root == &node) return merge(node.left, node.right);
  if (before(node, *root))
    root->left = remove_below(root->left, node);
  else
    root->right = remove_below(root->right, node);
  update(*root);
  return root;
}

void interval_tree::split(interval* root, const interval& at, interval*& left, interval*& right) {
  if (root == nullptr) {
    left = right = nullptr;
  } else if (before(*root, at)) {
    split(root->right, at, root->right, right);
    update(*root);
    left = root;
  } else {
    split(root->left, at, left, root->left);
    update(*root);
    right = root;
  }
}

interval* interval_tree::merge(interval* left, interval* right) {
  if (left == nullptr) return right;
  if (right == nullptr) return left;
  interval* root;
  if (left->priority > right->priority) {
    left->right = merge(left->right, right);
    root = left;
  } else {
    right->left = merge(left, right->left);
    root = right;
  }
  update(*root);
  return root;
}

interval* interval_tree::covering(uint64_t begin, uint64_t end) const {
  interval* node = root_;
  while (node != nullptr && node->last_end >= end) {
    if (node->begin > begin) {
      node = node->left;
    } else if (node->end >= end) {
      return node;
    } else if (node->left != nullptr && node->left->last_end >= end) {
      node = node->left;  // all its nodes begin early enough, so the one that ends last contains the range
    } else {
      node = node->right;
    }
  }
  return nullptr;
}

interval* interval_tree::overlapping(uint64_t begin, uint64_t end) const {
  interval* node = root_;
  while (node != nullptr) {
    if (node->left != nullptr && node->left->last_end > begin) {
      // A node there ends late enough. If it begins too late, so do all nodes after it.
      node = node->left;
    } else if (node->begin < end && node->end > begin) {
      return node;
    } else {
      node = node->begin < end ? node->right : nullptr;
    }
  }
  return nullptr;
}

}  // namespace lci
