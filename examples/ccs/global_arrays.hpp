// A partitioned global address space over CCS: arrays that all processes share, in blocks that go round the processes,
// with global pointers, copies between any of them, locks, atomics and a split-phase barrier. For one thread.
#pragma once

#include <ccs.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace global_arrays {

inline void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}
inline void check(int result) { check(result == CCS_SUCCESS, "a call of CCS"); }

inline int my_number() {
  CCS_node_t n = 0;
  check(CCS_get_rank(&n));
  return static_cast<int>(n);
}
inline int n_processes() {
  CCS_node_t n = 0;
  check(CCS_get_size(&n));
  return static_cast<int>(n);
}

inline void count_down(void* outstanding) { --*static_cast<int*>(outstanding); }
inline void wait_for(const int& outstanding) {
  while (outstanding > 0) CCS_poll();
}

/// An element of an array: its process, and its address there, which is the same for all (symmetric memory).
template <class T>
struct global_pointer {
  CCS_node_t node;
  T* address;
};

/// `size` elements in blocks of `block`, which go round the processes. Made and freed by all.
template <class T>
class shared_array {
 public:
  shared_array(size_t size, size_t block) : size_(size), block_(block), n_(static_cast<size_t>(n_processes())) {
    const size_t blocks = (size + block - 1) / block, mine = (blocks + n_ - 1) / n_;
    void* memory = nullptr;
    check(CCS_malloc_symmetric(mine * block * sizeof(T), &memory));
    base_ = static_cast<T*>(memory);
    std::fill(base_, base_ + mine * block, T());
    check(CCS_barrier());
  }
  ~shared_array() { CCS_free_symmetric(base_); }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;

  size_t size() const { return size_; }
  global_pointer<T> at(size_t i) const {
    const size_t block = i / block_;
    return {static_cast<CCS_node_t>(block % n_), base_ + block / n_ * block_ + i % block_};
  }
  bool is_mine(size_t i) const { return at(i).node == static_cast<CCS_node_t>(my_number()); }

  void put(size_t i, T value) { transfer(CCS_put, &value, i, 1, true); }
  T get(size_t i) {
    T value;
    get(i, 1, &value);
    return value;
  }
  /// Any range; a transfer for each block of it.
  void get(size_t i, size_t n, T* to) { transfer(CCS_get, to, i, n, false); }
  void put(size_t i, size_t n, const T* from) { transfer(CCS_put, const_cast<T*>(from), i, n, true); }
  /// Copies `n` elements to another array. Any process may own the elements of either array.
  void copy(size_t i, size_t n, shared_array& to, size_t at) {
    std::vector<T> between(n);
    get(i, n, between.data());
    to.put(at, n, between.data());
  }

 private:
  template <class F>
  void transfer(F move, T* local, size_t i, size_t n, bool is_put) {
    int outstanding = 0;
    while (n > 0) {
      const size_t some = std::min(n, block_ - i % block_);
      const global_pointer<T> p = at(i);
      ++outstanding;
      check(move(p.node, is_put ? local : p.address, some * sizeof(T), CCS_DATA8, is_put ? p.address : local,
                 some * sizeof(T), CCS_DATA8, count_down, &outstanding));
      i += some;
      n -= some;
      local += some;
    }
    wait_for(outstanding);
  }

  const size_t size_, block_, n_;
  T* base_ = nullptr;
};

inline uint64_t atomic(global_pointer<uint64_t> p, CCS_atomic_op_t op, uint64_t value, uint64_t compare = 0) {
  uint64_t old = 0;
  int outstanding = 1;
  check(CCS_atomic(p.node, op, p.address, value, compare, &old, count_down, &outstanding));
  wait_for(outstanding);
  return old;
}

/// A word of a shared array as a lock.
class global_lock {
 public:
  explicit global_lock(global_pointer<uint64_t> word) : word_(word) {}
  void lock() {
    while (atomic(word_, CCS_ATOMIC_COMPARESWAP, 1, 0) != 0) CCS_poll();
  }
  void unlock() { atomic(word_, CCS_ATOMIC_SWAP, 0); }

 private:
  const global_pointer<uint64_t> word_;
};

/// A barrier in two parts, with work between them. `arrivals` is a counter that all share.
class split_barrier {
 public:
  explicit split_barrier(global_pointer<uint64_t> arrivals) : arrivals_(arrivals) {}
  void notify() {
    check(CCS_allfence());
    atomic(arrivals_, CCS_ATOMIC_FETCHADD, 1);
    target_ += static_cast<uint64_t>(n_processes());
  }
  void wait() {
    while (atomic(arrivals_, CCS_ATOMIC_READ, 0) < target_) CCS_poll();
  }

 private:
  const global_pointer<uint64_t> arrivals_;
  uint64_t target_ = 0;
};

}  // namespace global_arrays
