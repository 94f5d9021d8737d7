// A two-dimensional Fourier transform of a matrix whose rows are distributed over the ranks: transform the rows,
// transpose, transform the rows again, transpose back. A transpose is one put from each rank to each other rank: two
// layouts describe how columns of the local rows become rows at the target. FFTW transforms rows; at rank 0 it also
// transforms the whole matrix, to check the result.
//
//   lcirun -n 4 fft2d

#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <lci.hpp>
#include <vector>

using number = std::complex<double>;

constexpr size_t n = 120;  // rows and columns: divisible by 2, 3, 4, 5, 6 and 8 ranks

/// Rows `mine * rows` to `(mine + 1) * rows` of an n x n matrix, in memory that all ranks can access.
struct matrix {
  explicit matrix(size_t my_rows)
      : rows(my_rows),
        memory(lci::alloc_symmetric(rows * n * sizeof(number))),
        data(static_cast<number*>(lci::get_mr_base(lci::get_symmetric_mr(memory)))) {}
  ~matrix() { lci::free_symmetric(&memory); }
  matrix(const matrix&) = delete;

  const size_t rows;
  lci::symmetric_t memory;
  number* const data;
};

void transform_rows(matrix& m) {
  const int length = n;
  auto* in_place = reinterpret_cast<fftw_complex*>(m.data);
  fftw_plan plan = fftw_plan_many_dft(1, &length, static_cast<int>(m.rows), in_place, nullptr, 1, length, in_place,
                                      nullptr, 1, length, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
}

/// to[j][i] = from[i][j]. Collective.
void transpose(const matrix& from, matrix& to) {
  const size_t rows = from.rows, me = static_cast<size_t>(lci::get_rank_me());
  // Source: one number of each row, then those of the next column; `rows` columns in all.
  const size_t counts_here[] = {sizeof(number), rows, rows};
  const size_t strides_here[] = {n * sizeof(number), sizeof(number)};
  const auto columns = lci::layout_t::strided(counts_here, strides_here, 2);
  // Target: each column becomes a part of a row.
  const size_t counts_there[] = {rows * sizeof(number), rows};
  const size_t strides_there[] = {n * sizeof(number)};
  const auto pieces = lci::layout_t::strided(counts_there, strides_there, 1);

  lci::comp_t counter = lci::alloc_counter();
  const size_t ranks = n / rows;
  for (size_t step = 0; step < ranks; ++step) {
    const size_t peer = (me + step) % ranks;  // different ranks start with different targets
    const auto put =
        lci::post_put_x(static_cast<int>(peer), from.data + peer * rows, columns.size(), counter,
                        me * rows * sizeof(number), lci::get_symmetric_rmr(to.memory, static_cast<int>(peer)))
            .layout(&columns)
            .remote_layout(&pieces);
    while (put().is_retry()) lci::progress();
  }
  // The flush completes this rank's puts; the barrier, those of all ranks.
  lci::post_flush(lci::ALL_RANKS, lci::COMP_NULL);
  lci::barrier();
  lci::free_comp(&counter);
}

/// The largest difference to FFTW's transform of the whole matrix; at rank 0.
double difference_to_fftw(const matrix& result, std::vector<number> whole) {
  std::vector<number> all(n * n);
  lci::gather(result.data, all.data(), result.rows * n * sizeof(number), 0);
  if (lci::get_rank_me() != 0) return 0;
  auto* in_place = reinterpret_cast<fftw_complex*>(whole.data());
  fftw_plan plan = fftw_plan_dft_2d(n, n, in_place, in_place, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  double most = 0;
  for (size_t i = 0; i < n * n; ++i) most = std::max(most, std::abs(all[i] - whole[i]));
  return most;
}

int main() {
  lci::g_runtime_init();
  const auto me = static_cast<size_t>(lci::get_rank_me());
  const auto ranks = static_cast<size_t>(lci::get_rank_n());
  if (n % ranks != 0) {
    if (me == 0) std::fprintf(stderr, "fft2d: %zu rows can't be divided among %zu ranks\n", n, ranks);
    lci::g_runtime_fina();
    return 2;
  }
  int wrong = 0;
  {
    matrix a(n / ranks), b(n / ranks);
    std::vector<number> whole(n * n);
    for (size_t i = 0; i < n * n; ++i)
      whole[i] = {std::sin(0.37 * static_cast<double>(i)), std::cos(1.1 * static_cast<double>(i % 77))};
    std::copy_n(whole.begin() + static_cast<long>(me * a.rows * n), a.rows * n, a.data);

    transform_rows(a);
    transpose(a, b);
    transform_rows(b);
    transpose(b, a);

    const double difference = difference_to_fftw(a, std::move(whole));
    wrong = !(difference < 1e-8);
    if (me == 0)
      std::printf("%zu x %zu numbers on %zu ranks, largest difference to FFTW: %.1e\n", n, n, ranks, difference);
  }
  lci::g_runtime_fina();
  return wrong;
}
