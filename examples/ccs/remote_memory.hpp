// A library for remote memory access over CCS, like ARMCI: symmetric memory, strided and vector puts, gets and
// accumulates, fences and notifications. Each operation blocks until its data is in the destination's memory.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace remote_memory {

/// One side of a strided transfer: counts[0] contiguous bytes, repeated counts[1] times at a distance of strides[0]
/// bytes, and so on. `counts` is an argument of the transfer, since both sides have the same.
struct section {
  void* base;
  std::vector<int> strides;
};
struct piece {
  void* from;
  void* to;
  size_t bytes;
};

/// The library's state in a process. Thread-bound. Constructor and destructor are collective.
class library {
 public:
  /// All processes must create this object, and other contexts of CCS, in the same order.
  library() {
    check(CCS_new_context(&context_));
    check(CCS_register_handler(context_, 0, on_notify));
    check(CCS_set_handler_data(context_, 0, this));
    CCS_node_t size = 0;
    check(CCS_get_size(&size));
    notified_.assign(size, 0);
    check(CCS_barrier());
  }
  ~library() { CCS_barrier(); }
  library(const library&) = delete;
  library& operator=(const library&) = delete;

  /// Allocates memory at the same address in all processes. Collective, as release() is.
  void* allocate(size_t bytes) {
    void* memory = nullptr;
    check(CCS_malloc_symmetric(bytes, &memory));
    return memory;
  }
  void release(void* memory) { check(CCS_free_symmetric(memory)); }

  void put(const section& from, const section& to, const std::vector<int>& counts, CCS_node_t node) {
    const description source(from, counts), target(to, counts);
    complete([&](CCS_callback_t done, void* left) {
      return CCS_put(node, from.base, 1, source.desc, to.base, 1, target.desc, done, left);
    });
  }
  void get(const section& from, const section& to, const std::vector<int>& counts, CCS_node_t node) {
    const description source(from, counts), target(to, counts);
    complete([&](CCS_callback_t done, void* left) {
      return CCS_get(node, from.base, 1, source.desc, to.base, 1, target.desc, done, left);
    });
  }
  /// to += scale * from for doubles, each atomically.
  void accumulate(double scale, const section& from, const section& to, const std::vector<int>& counts,
                  CCS_node_t node) {
    const description source(from, counts), target(to, counts);
    complete([&](CCS_callback_t done, void* left) {
      return CCS_accumulate(node, CCS_SUM, CCS_DOUBLE, &scale, from.base, 1, source.desc, to.base, 1, target.desc, done,
                            left);
    });
  }

  /// Transfers of several pieces in one operation.
  void put(const std::vector<piece>& pieces, CCS_node_t node) { vector(CCS_put, pieces, node); }
  void get(const std::vector<piece>& pieces, CCS_node_t node) { vector(CCS_get, pieces, node); }

  void fence(CCS_node_t node) { check(CCS_fence(node)); }
  void barrier() {
    check(CCS_allfence());
    check(CCS_barrier());
  }
  /// Notifies a process. wait_notify() at that process then returns, and finds the data of earlier puts.
  void notify(CCS_node_t node) { check(CCS_amrequest(context_, node, nullptr, 0, CCS_DATA_NULL, 0, 0)); }
  void wait_notify(CCS_node_t node) {
    while (notified_[node] == 0) CCS_poll();
    --notified_[node];
  }

 private:
  static void check(int result) {
    if (result != CCS_SUCCESS) throw std::runtime_error("CCS refused a call: see its message");
  }
  struct description {
    description(const section& s, const std::vector<int>& counts) {
      check(CCS_datadesc_create_strided(static_cast<int>(s.strides.size()), s.strides.data(), counts.data(), &desc));
    }
    description(const std::vector<piece>& pieces, bool of_targets) {
      std::vector<CCS_aint_t> at;
      std::vector<size_t> bytes;
      for (const piece& p : pieces) {
        at.push_back(reinterpret_cast<CCS_aint_t>(of_targets ? p.to : p.from));
        bytes.push_back(p.bytes);
      }
      base = at.empty() ? nullptr : of_targets ? pieces.front().to : pieces.front().from;
      for (CCS_aint_t& a : at) a -= reinterpret_cast<CCS_aint_t>(base);
      check(CCS_datadesc_create_iov(static_cast<int>(at.size()), at.data(), bytes.data(), &desc));
    }
    ~description() { CCS_datadesc_free(&desc); }
    description(const description&) = delete;
    description& operator=(const description&) = delete;
    CCS_datadesc_t desc = CCS_DATA_NULL;
    void* base = nullptr;
  };

  template <class F>
  void vector(F move, const std::vector<piece>& pieces, CCS_node_t node) {
    if (pieces.empty()) return;
    const description source(pieces, false), target(pieces, true);
    complete([&](CCS_callback_t done, void* left) {
      return move(node, source.base, 1, source.desc, target.base, 1, target.desc, done, left);
    });
  }
  template <class F>
  static void complete(F begin) {
    int left = 1;
    check(begin([](void* n) { --*static_cast<int*>(n); }, &left));
    while (left > 0) CCS_poll();
  }
  static void on_notify(CCS_token_t token, void*, unsigned) {
    CCS_node_t from = 0;
    CCS_sender_rank(token, &from);
    ++static_cast<library*>(CCS_handler_data(token))->notified_[from];
  }

  CCS_context_t context_ = 0;
  std::vector<int> notified_;
};

}  // namespace remote_memory
