// A partitioned global address space over CCS: arrays that all processes share, in blocks that go round the processes,
// with global pointers, locks, atomics and a split-phase barrier. Two programs use it and check themselves: random
// updates of a table, and a stencil.
//
//   lcirun -n 4 ccs_global_arrays
#include <ccs.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}
void check(int result) { check(result == CCS_SUCCESS, "a call of CCS"); }

int my_number() {
  CCS_node_t n = 0;
  check(CCS_get_rank(&n));
  return static_cast<int>(n);
}
int n_processes() {
  CCS_node_t n = 0;
  check(CCS_get_size(&n));
  return static_cast<int>(n);
}

void count_down(void* outstanding) { --*static_cast<int*>(outstanding); }
void wait_for(const int& outstanding) {
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
  /// Any range; a get for each block of it.
  void get(size_t i, size_t n, T* to) { transfer(CCS_get, to, i, n, false); }

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

uint64_t atomic(global_pointer<uint64_t> p, CCS_atomic_op_t op, uint64_t value, uint64_t compare = 0) {
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

/// Adds to random words of a table, then the same numbers negated: all must be 0 again.
void random_updates() {
  shared_array<uint64_t> table(1 << 12, 64);
  for (const bool undo : {false, true}) {
    std::mt19937_64 random(static_cast<uint64_t>(my_number()));
    for (int i = 0; i < 1000; ++i) {
      const uint64_t by = random();
      atomic(table.at(random() % table.size()), CCS_ATOMIC_FETCHADD, undo ? ~by + 1 : by);
    }
    check(CCS_barrier());
    uint64_t left = 0, all = 0;
    for (size_t i = 0; i < table.size(); ++i)
      if (table.is_mine(i)) left |= *table.at(i).address;
    check(CCS_allreduce(&left, &all, 1, CCS_UINT64, CCS_OR));
    check((all == 0) == undo, "the table after random updates");
  }
}

/// Counts under a lock, with plain puts and gets: no update may be lost.
void locked_counter() {
  shared_array<uint64_t> words(64, 1);
  global_lock guard(words.at(0));
  for (int i = 0; i < 20; ++i) {
    guard.lock();
    words.put(1, words.get(1) + 1);
    guard.unlock();
  }
  check(CCS_barrier());
  check(words.get(1) == static_cast<uint64_t>(20 * n_processes()), "a counter under a lock");
  check(CCS_barrier());
}

/// Averages of neighbours, step by step; compared with the same done by one process.
void stencil() {
  constexpr size_t n = 600, block = 50;
  constexpr int steps = 20;
  shared_array<double> now(n, block), next(n, block);
  shared_array<uint64_t> counters(64, 1);
  split_barrier barrier(counters.at(0));
  std::vector<double> model(n), after(n);
  for (size_t i = 0; i < n; ++i) {
    model[i] = static_cast<double>(i % 17);
    if (now.is_mine(i)) *now.at(i).address = model[i];
  }
  check(CCS_barrier());
  shared_array<double>*from = &now, *to = &next;
  for (int step = 0; step < steps; ++step) {
    for (size_t i = 0; i < n; i += block) {
      if (!from->is_mine(i)) continue;
      const double left = i == 0 ? 0 : from->get(i - 1), right = i + block == n ? 0 : from->get(i + block);
      const double* const in = from->at(i).address;
      double* const out = to->at(i).address;
      for (size_t k = 0; k < block; ++k)
        out[k] = ((k == 0 ? left : in[k - 1]) + in[k] + (k + 1 == block ? right : in[k + 1])) / 3;
    }
    barrier.notify();
    for (size_t i = 0; i < n; ++i)  // meanwhile
      after[i] = ((i == 0 ? 0 : model[i - 1]) + model[i] + (i + 1 == n ? 0 : model[i + 1])) / 3;
    model.swap(after);
    barrier.wait();
    std::swap(from, to);
  }
  std::vector<double> all(n);
  from->get(0, n, all.data());
  check(all == model, "the stencil");
  check(CCS_barrier());
}

}  // namespace

int main() {
  check(CCS_init());
  random_updates();
  locked_counter();
  stencil();
  std::printf("process %d of %d: right\n", my_number(), n_processes());
  check(CCS_finalize());
  return 0;
}
