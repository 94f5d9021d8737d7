// Checks that operations move the right data, once for each size, not timed.
#include <atomic>
#include <cstring>
#include <string>

#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/one_sided_actor.hpp"
#include "bench/lci_perf/pattern.hpp"
#include "bench/lci_perf/team.hpp"
#include "bench/lci_perf/together.hpp"

namespace lci_perf {
namespace {

// Makes progress at the target of a put until its data has arrived. The origin learns of the completion, the target
// does not.
template <class Test>
void await(actor& a, const std::string& what, Test test) {
  const double end = now_seconds() + 20;
  while (!test()) {
    if (now_seconds() > end) give_up(what + " has not written the right data to the target");
    lci::progress_x().device(a.device)();
  }
}

// Returns whether the block contains the pattern of a matrix and the bytes outside of it are still 0.
bool is_block(const char* matrix, int seed) {
  const matrix_block block;
  for (size_t row = 0; row < matrix_rows; ++row) {
    const size_t begin = row * block.strides[0];
    for (size_t i = 0; i < block.strides[0]; ++i) {
      const bool inside = row < block.counts[1] && i < block.counts[0];
      if (matrix[begin + i] != (inside ? pattern_byte(begin + i, seed) : 0)) return false;
    }
  }
  return true;
}
constexpr size_t matrix_bytes = matrix_rows * matrix_rows * sizeof(double);

std::atomic<uint64_t>& first_word(actor& a) { return *reinterpret_cast<std::atomic<uint64_t>*>(a.mine); }

}  // namespace

void check_put(actor& a, size_t size, roles r, one_operation once) {
  std::memset(a.mine, 0, size);
  fill_pattern(a.buffer.get(), size, a.rank);
  meet_on(a.device);
  if (r.posts) once(a, size);
  if (r.is_target) await(a, "a put", [&] { return has_pattern(a.mine, size, a.peer); });
  meet_on(a.device);
}

void check_get(actor& a, size_t size, roles r, one_operation once) {
  fill_pattern(a.mine, size, a.rank);
  std::memset(a.buffer.get(), 0, size);
  meet_on(a.device);
  if (r.posts) {
    once(a, size);
    if (!has_pattern(a.buffer.get(), size, a.peer)) give_up("a get has returned wrong data");
  }
  meet_on(a.device);
}

void check_block_put(actor& a, roles r, one_operation once) {
  std::memset(a.mine, 0, matrix_bytes);
  fill_pattern(a.buffer.get(), matrix_bytes, a.rank);
  meet_on(a.device);
  if (r.posts) once(a, block_bytes);
  if (r.is_target) await(a, "a put of a block", [&] { return is_block(a.mine, a.peer); });
  meet_on(a.device);
}

void check_block_get(actor& a, roles r, one_operation once) {
  fill_pattern(a.mine, matrix_bytes, a.rank);
  std::memset(a.buffer.get(), 0, matrix_bytes);
  meet_on(a.device);
  if (r.posts) {
    once(a, block_bytes);
    if (!is_block(a.buffer.get(), a.peer)) give_up("a get of a block has returned wrong data");
  }
  meet_on(a.device);
}

void check_atomic(actor& a, roles r, lci::atomic_op_t op) {
  constexpr uint64_t count = 100, step = 3;
  first_word(a).store(0, std::memory_order_relaxed);
  meet_on(a.device);
  for (uint64_t now = 0; r.posts && now < count * step; now += step) {
    const uint64_t operand = op == lci::atomic_op_t::add ? step : now + step;
    uint64_t before = ~uint64_t{0};
    post_one_atomic(a, op, operand, now, before, lci::COMP_NULL);
    if (before != now) give_up("an atomic operation has returned a wrong previous value");
    if (op != lci::atomic_op_t::compare_swap) continue;
    post_one_atomic(a, op, 0, now, before, lci::COMP_NULL);  // `now` is no longer the current value, so this must fail
    if (before != operand) give_up("a compare-and-swap has returned a wrong previous value");
  }
  meet_on(a.device);
  if (r.is_target && first_word(a).load(std::memory_order_relaxed) != count * step)
    give_up("atomic operations have left a wrong sum at the target");
  first_word(a).store(0, std::memory_order_relaxed);
  meet_on(a.device);
}

void check_allreduce(actor& a, size_t size, one_operation once) {
  const auto n = static_cast<size_t>(lci::get_rank_n());
  auto* const values = reinterpret_cast<double*>(a.buffer.get());
  const auto* const sums = reinterpret_cast<const double*>(a.result.get());
  for (size_t i = 0; i < size / sizeof(double); ++i)
    values[i] = static_cast<double>(i % 1000 + static_cast<size_t>(a.rank));
  once(a, size);
  meet_on(a.device);
  for (size_t i = 0; i < size / sizeof(double); ++i) {
    if (sums[i] != static_cast<double>(n * (i % 1000) + n * (n - 1) / 2))
      give_up("an allreduce has returned a wrong sum");
  }
}

}  // namespace lci_perf
