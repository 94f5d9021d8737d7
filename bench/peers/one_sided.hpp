// Puts, gets and atomics on the other process's memory, for any library (`Window`).
#pragma once

#include <cstring>

#include "bench/lci_perf/binding.hpp"
#include "bench/peers/session.hpp"
#include "bench/peers/two_sided.hpp"

namespace peers {

/// Size of the memory that a run needs on either side. At least a page: MPICH 4.0 loses puts to a window of 8 bytes.
inline size_t window_bytes(const options& o) {
  if (o.op == op_kind::strided) return lci_perf::matrix_rows * lci_perf::matrix_rows * sizeof(double);
  return std::max<size_t>(*std::max_element(o.sizes.begin(), o.sizes.end()), 4096);
}

/// `Window` is memory of both processes. It provides mine(), local() (the local buffer of puts and gets), put, get,
/// fetch_add, put_block (strided), complete() (all operations are complete at the target), put_signal and await_signal,
/// and sync() (the target may read its memory).
template <class Window>
class one_sided : public workload {
 public:
  one_sided(const options& o, job& all, Window& memory) : options_(o), all_(all), memory_(memory) {
    std::memset(memory.local(), 1, window_bytes(o));
    std::memset(memory.mine(), 0, window_bytes(o));
  }

  int threads() const override { return 1; }
  void bind(int) override { lci_perf::bind_thread(options_.bind, all_.rank, 1, 0); }
  void prepare(int, const round&) override {}
  void run(int, const round& r) override {
    if (r.check) return check(r);
    if (options_.op == op_kind::putsignal) return ping_pong(r);
    if (all_.rank == 0) operate(r);
  }

 private:
  template <class Operation>
  void repeat(const round& r, Operation operation) {
    // Latency is that of one complete operation; otherwise a window of operations is completed together.
    const uint64_t together = options_.metric == metric_kind::latency || options_.op == op_kind::strided
                                  ? 1
                                  : static_cast<uint64_t>(options_.window);
    for (uint64_t done = 0; done < r.count;) {
      const uint64_t end = std::min(done + together, r.count);
      for (; done < end; ++done) operation();
      memory_.complete();
    }
  }

  void operate(const round& r) {
    switch (options_.op) {
      case op_kind::put:
        return repeat(r, [&] { memory_.put(r.size); });
      case op_kind::get:
        return repeat(r, [&] { memory_.get(r.size); });
      case op_kind::atomic:
        return repeat(r, [&] { memory_.fetch_add(); });
      default:
        return repeat(r, [&] { memory_.put_block(); });
    }
  }

  void ping_pong(const round& r) {
    for (uint64_t i = 0; i < r.count; ++i) {
      if (all_.rank == 1) memory_.await_signal();
      memory_.put_signal(r.size);
      if (all_.rank == 0) memory_.await_signal();
    }
  }

  /// Runs one operation, or `count` fetch-and-adds, and checks the result.
  void check(const round& r) {
    const bool gets = options_.op == op_kind::get, adds = options_.op == op_kind::atomic;
    const size_t size = options_.op == op_kind::strided ? window_bytes(options_) : r.size;
    char* const from = gets ? memory_.mine() : memory_.local();
    uint64_t before = 0;
    memory_.sync();
    std::memcpy(&before, memory_.mine(), sizeof before);
    if (!adds && all_.rank == (gets ? 1 : 0)) fill(from, size, 5);
    memory_.sync();
    all_.barrier();
    if (options_.op == op_kind::putsignal) {
      if (all_.rank == 0) memory_.put_signal(r.size);
      if (all_.rank == 1) memory_.await_signal();
    } else if (all_.rank == 0) {
      operate({adds ? r.count : 1, r.size, false});
    }
    all_.barrier();
    memory_.sync();
    if (gets && all_.rank == 0) compare(memory_.local(), size, 5);
    if (!gets && all_.rank == 1) adds ? check_sum(before + r.count) : check_target(size);
    all_.barrier();
  }
  void check_sum(uint64_t expected) {
    uint64_t sum = 0;
    std::memcpy(&sum, memory_.mine(), sizeof sum);
    if (sum != expected) die("check of fetch-and-add", "the sum is wrong");
  }
  void check_target(size_t size) {
    if (options_.op != op_kind::strided) return compare(memory_.mine(), size, 5);
    constexpr size_t pitch = lci_perf::matrix_rows * sizeof(double), row = lci_perf::block_rows * sizeof(double);
    for (size_t y = 0; y < lci_perf::matrix_rows; ++y)
      for (size_t x = 0; x < pitch; ++x) {
        const size_t at = y * pitch + x;
        const bool inside = y < lci_perf::block_rows && x < row;
        if (memory_.mine()[at] != (inside ? static_cast<char>(5 * 31 + at * 7 + 1) : 0))
          die("check of the strided put", "wrong bytes arrived");
      }
  }

  const options& options_;
  job& all_;
  Window& memory_;
};

}  // namespace peers
