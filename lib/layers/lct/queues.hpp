// The types of queues behind LCT_queue_t.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "lib/concurrent/bounded_queue.hpp"
#include "lib/concurrent/segmented_queue.hpp"
#include "lib/layers/lct/misuse.hpp"

namespace lct {

class queue : public object<0x5bafb10e> {
 public:
  virtual ~queue() = default;
  /// Returns false if it is full.
  virtual bool push(void* item) = 0;
  virtual void* pop() = 0;
  /// Returns whether several threads may use it, so that another thread may pop from a full queue.
  virtual bool is_shared() const { return true; }
};

/// A queue in an array of fixed size. Not thread-safe.
class ring {
 public:
  explicit ring(size_t length) : items_(length) {}
  bool push(void* item) {
    if (n_ == items_.size()) return false;
    items_[(first_ + n_++) % items_.size()] = item;
    return true;
  }
  void* pop() {
    if (n_ == 0) return nullptr;
    void* item = items_[first_];
    first_ = first_ + 1 == items_.size() ? 0 : first_ + 1;
    --n_;
    return item;
  }

 private:
  std::vector<void*> items_;
  size_t first_ = 0, n_ = 0;
};

/// An unbounded queue. Not thread-safe.
class list {
 public:
  bool push(void* item) {
    items_.push_back(item);
    return true;
  }
  void* pop() {
    if (items_.empty()) return nullptr;
    void* item = items_.front();
    items_.pop_front();
    return item;
  }

 private:
  std::deque<void*> items_;
};

template <class Items>
class single_thread_queue final : public queue {
 public:
  template <class... A>
  explicit single_thread_queue(A... a) : items_(a...) {}
  bool push(void* item) override { return items_.push(item); }
  void* pop() override { return items_.pop(); }
  bool is_shared() const override { return false; }

 private:
  Items items_;
};

template <class Items>
class locked_queue final : public queue {
 public:
  template <class... A>
  explicit locked_queue(A... a) : items_(a...) {}
  bool push(void* item) override {
    std::lock_guard guard(mutex_);
    return items_.push(item);
  }
  void* pop() override {
    std::lock_guard guard(mutex_);
    return items_.pop();
  }

 private:
  std::mutex mutex_;
  Items items_;
};

class array_queue final : public queue {
 public:
  explicit array_queue(size_t length) : items_(length) {}
  bool push(void* item) override { return items_.push(item); }
  void* pop() override {
    void* item = nullptr;
    return items_.pop(item) ? item : nullptr;
  }

 private:
  lci::bounded_queue<void*> items_;
};

class endless_queue final : public queue {
 public:
  bool push(void* item) override {
    items_.push(item);
    return true;
  }
  void* pop() override {
    void* item = nullptr;
    return items_.pop(item) ? item : nullptr;
  }

 private:
  lci::segmented_queue<void*> items_;
};

}  // namespace lct
