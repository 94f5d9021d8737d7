// Loops of puts, gets, atomics and collectives.
#include "bench/lci_perf/one_sided_actor.hpp"

namespace lci_perf {
namespace {

// Calls post(comp) `count` times. A window of one needs no completion object: posts without one wait.
template <class Post>
inline void repeat(actor& a, uint64_t count, int64_t window, Post post) {
  if (window == 1) {
    for (uint64_t i = 0; i < count; ++i) post(lci::COMP_NULL);
    return;
  }
  const auto progress_until = [&](int64_t under_way) {
    while (a.posted - lci::counter_get(a.local) > under_way) lci::progress_x().device(a.device)();
  };
  for (uint64_t i = 0; i < count; ++i) {
    while (true) {
      const lci::status_t status = post(a.local);
      if (__builtin_expect(status.is_done(), 1)) break;
      if (status.is_posted()) {
        ++a.posted;
        progress_until(window - 1);
        break;
      }
      lci::progress_x().device(a.device)();
    }
  }
  progress_until(0);
}

void put(actor& a, uint64_t count, size_t size, int64_t window) {
  repeat(
      a, count, window, [&a, size ](lci::comp_t comp) __attribute__((always_inline)) {
        return lci::post_put_x(a.peer, a.buffer.get(), size, comp, 0, a.target).device(a.device)();
      });
}

void get(actor& a, uint64_t count, size_t size, int64_t window) {
  repeat(
      a, count, window, [&a, size ](lci::comp_t comp) __attribute__((always_inline)) {
        return lci::post_get_x(a.peer, a.buffer.get(), size, comp, 0, a.target).device(a.device)();
      });
}

void put_block(actor& a, uint64_t count, size_t, int64_t window) {
  const matrix_block block;
  repeat(
      a, count, window, [&](lci::comp_t comp) __attribute__((always_inline)) {
        return lci::post_put_x(a.peer, a.buffer.get(), block_bytes, comp, 0, a.target)
            .layout(&block.layout)
            .remote_layout(&block.layout)
            .device(a.device)();
      });
}

void get_block(actor& a, uint64_t count, size_t, int64_t window) {
  const matrix_block block;
  repeat(
      a, count, window, [&](lci::comp_t comp) __attribute__((always_inline)) {
        return lci::post_get_x(a.peer, a.buffer.get(), block_bytes, comp, 0, a.target)
            .layout(&block.layout)
            .remote_layout(&block.layout)
            .device(a.device)();
      });
}

// Swaps and compare-and-swaps use zeros only, so that each compare succeeds in any order of outstanding operations.
template <lci::atomic_op_t Op>
void atomics(actor& a, uint64_t count, size_t, int64_t window) {
  const uint64_t operand = Op == lci::atomic_op_t::add ? 1 : 0, zero = 0;
  uint64_t before = 0;
  repeat(
      a, count, window, [&](lci::comp_t comp) __attribute__((always_inline)) {
        return post_one_atomic(a, Op, operand, zero, before, comp);
      });
}

void barriers(actor& a, uint64_t count, size_t, int64_t) {
  for (uint64_t i = 0; i < count; ++i) lci::barrier_x().device(a.device)();
}

void add_doubles(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i)
    static_cast<double*>(dst)[i] = static_cast<const double*>(left)[i] + static_cast<const double*>(right)[i];
}

void allreduces(actor& a, uint64_t count, size_t size, int64_t) {
  for (uint64_t i = 0; i < count; ++i)
    lci::allreduce_x(a.buffer.get(), a.result.get(), size / sizeof(double), sizeof(double), add_doubles)
        .device(a.device)();
}

template <void (*Operate)(actor&, uint64_t, size_t, int64_t)>
void once(actor& a, size_t size) {
  Operate(a, 1, size, 1);
}

}  // namespace

one_sided_kind one_sided_kind_of(op_kind op) {
  using lci::atomic_op_t;
  switch (op) {
    case op_kind::put:
      return {put, [](actor& a, size_t n, roles r) { check_put(a, n, r, once<put>); }, "puts to shared memory"};
    case op_kind::get:
      return {get, [](actor& a, size_t n, roles r) { check_get(a, n, r, once<get>); }, "gets from shared memory"};
    case op_kind::atomic:
      return {atomics<atomic_op_t::add>, [](actor& a, size_t, roles r) { check_atomic(a, r, atomic_op_t::add); },
              "64-bit fetch-and-add on shared memory"};
    case op_kind::swap:
      return {atomics<atomic_op_t::swap>, [](actor& a, size_t, roles r) { check_atomic(a, r, atomic_op_t::swap); },
              "64-bit swap on shared memory"};
    case op_kind::cas:
      return {atomics<atomic_op_t::compare_swap>,
              [](actor& a, size_t, roles r) { check_atomic(a, r, atomic_op_t::compare_swap); },
              "64-bit compare-and-swap on shared memory, always successful"};
    case op_kind::strided:
      return {put_block, [](actor& a, size_t, roles r) { check_block_put(a, r, once<put_block>); },
              "512 x 512 doubles out of 1024 x 1024, put into the same"};
    case op_kind::stridedget:
      return {get_block, [](actor& a, size_t, roles r) { check_block_get(a, r, once<get_block>); },
              "512 x 512 doubles out of 1024 x 1024, got into the same"};
    case op_kind::barrier:
      return {barriers, nullptr, "barriers, one after the other"};
    default:
      return {allreduces, [](actor& a, size_t n, roles) { check_allreduce(a, n, once<allreduces>); },
              "sums of doubles over all ranks, one after the other"};
  }
}

}  // namespace lci_perf
