// A server that computes with its clients' memory: it pulls the rows of a matrix, and pushes the results, while further
// pieces are under way.
//
//   matrix              the server; prints its URL
//   matrix URL [ROWS]   a client: normalizes the rows of a matrix, and checks them
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "lci/rpc.hpp"

namespace rpc = lci::rpc;

namespace {

constexpr size_t columns = 4096;
constexpr size_t row_bytes = columns * sizeof(double);
constexpr rpc::procedure<size_t(rpc::bulk)> normalize{"normalize"};

/// Makes the sum of each row 1. Two buffers: one is transferred while the other one is computed with.
size_t normalize_rows(const rpc::bulk& matrix) {
  const size_t rows = matrix.size() / row_bytes;
  std::vector<double> buffers[2] = {std::vector<double>(columns), std::vector<double>(columns)};
  rpc::future<void> pushed[2];
  rpc::future<void> pulled = matrix.sub(0, rows > 0 ? row_bytes : 0).pull_x(buffers[0])();
  for (size_t i = 0; i < rows; ++i) {
    std::vector<double>& row = buffers[i % 2];
    pulled.get();
    if (i + 1 < rows) {
      if (pushed[(i + 1) % 2]) pushed[(i + 1) % 2].get();  // the buffer is free
      pulled = matrix.sub((i + 1) * row_bytes, row_bytes).pull_x(buffers[(i + 1) % 2])();
    }
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    for (double& x : row) x /= sum;
    pushed[i % 2] = matrix.sub(i * row_bytes, row_bytes).push_x(row)();
  }
  for (rpc::future<void>& p : pushed)
    if (p) p.get();
  return rows;
}

int serve() {
  const rpc::engine e("tcp://127.0.0.1");
  e.define(normalize, normalize_rows);
  e.define("end", [&] { e.stop(); });
  std::puts(e.url().c_str());
  std::fflush(stdout);
  e.run();
  return 0;
}

int call(const char* url, size_t rows) {
  const rpc::engine e("tcp://127.0.0.1", rpc::options().client());
  const rpc::peer server = e.connect(url);
  std::vector<double> matrix(rows * columns);
  std::iota(matrix.begin(), matrix.end(), 1.0);
  const size_t done = e.declare(normalize).on(server)(e.expose(matrix));
  double worst = 0;
  for (size_t i = 0; i < rows; ++i) {
    const auto row = matrix.begin() + static_cast<long>(i * columns);
    worst = std::max(worst, std::abs(std::accumulate(row, row + columns, 0.0) - 1));
  }
  std::printf("%zu rows, %s\n", done, worst < 1e-9 ? "right" : "WRONG");
  e.declare<void()>("end").on(server)();
  return worst < 1e-9 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return argc < 2 ? serve() : call(argv[1], argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100);
}
