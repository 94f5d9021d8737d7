// Uses the library of global_arrays.hpp and checks itself: random updates of a table (GUPS), a counter under a lock,
// copies between arrays with other blocks, and a stencil.
//
//   lcirun -n 4 ccs_global_arrays
#include "global_arrays.hpp"

#include <cmath>
#include <random>

using namespace global_arrays;

namespace {

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

/// An array goes to one with other blocks, in pieces that begin and end anywhere, and back.
void copies() {
  constexpr size_t n = 3000;
  shared_array<uint64_t> one(n, 32), other(n + 100, 17);
  std::mt19937 random(5);  // the same pieces at all processes
  std::vector<uint64_t> values(n), back(n);
  for (size_t i = 0; i < n; ++i) values[i] = i * i + 7;
  if (my_number() == 0) one.put(0, n, values.data());
  check(CCS_barrier());
  for (size_t i = 0, turn = 0; i < n; ++turn) {
    const size_t some = std::min<size_t>(n - i, random() % 200 + 1);
    if (turn % static_cast<size_t>(n_processes()) == static_cast<size_t>(my_number()))
      one.copy(i, some, other, i + 100);
    i += some;
  }
  check(CCS_barrier());
  other.get(100, n, back.data());
  check(back == values, "copies between arrays");
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
  copies();
  stencil();
  std::printf("process %d of %d: right\n", my_number(), n_processes());
  check(CCS_finalize());
  return 0;
}
