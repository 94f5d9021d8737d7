#include "bench/lci_perf/one_sided.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <lci.hpp>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/handoff.hpp"
#include "bench/lci_perf/page_buffer.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"

namespace lci_perf {
namespace {

std::atomic<uint64_t> signals{0};  // seen by this rank's handler, which runs in its own progress()

void count_signal(lci::status_t) {  // by one thread alone: no locked instruction is needed
  signals.store(signals.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// What a round of `count` operations needs. Made by both ranks together.
struct stage {
  stage(size_t bytes, int ranks, int my_rank)
      : rank(my_rank),
        peer(ranks - 1 - my_rank),
        device(lci::get_default_device()),
        memory(lci::alloc_symmetric(bytes)),
        target(lci::get_symmetric_rmr(memory, peer)),
        handler(lci::alloc_handler_x(count_signal)()),
        signal(lci::register_rcomp(handler)),
        buffer(make_page_buffer(bytes, 1)) {
    std::memset(lci::get_symmetric_address(memory, rank), 2, bytes);
    lci::barrier();
  }
  ~stage() {
    lci::deregister_rcomp(signal);
    lci::free_comp(&handler);
    lci::free_symmetric(&memory);
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  const int rank, peer;
  const lci::device_t device;
  lci::symmetric_t memory;
  const lci::rmr_t target;
  lci::comp_t handler;
  const lci::rcomp_t signal;  // the same number at both ranks, which register in the same order
  const page_buffer buffer;
  uint64_t expected = 0;  // signals so far: they may come before we begin to wait
};

void put(stage& s, uint64_t count, size_t size) {
  for (uint64_t i = 0; i < count; ++i)
    lci::post_put_x(s.peer, s.buffer.get(), size, lci::COMP_NULL, 0, s.target).device(s.device)();
}

void get(stage& s, uint64_t count, size_t size) {
  for (uint64_t i = 0; i < count; ++i)
    lci::post_get_x(s.peer, s.buffer.get(), size, lci::COMP_NULL, 0, s.target).device(s.device)();
}

void fetch_add(stage& s, uint64_t count, size_t) {
  const uint64_t one = 1;
  uint64_t before = 0;
  for (uint64_t i = 0; i < count; ++i)
    lci::post_atomic_x(s.peer, lci::atomic_op_t::add, &one, &before, lci::COMP_NULL, 0, s.target)
        .device(s.device)();
}

void put_block(stage& s, uint64_t count, size_t) {
  constexpr size_t pitch = matrix_rows * sizeof(double);
  const size_t counts[] = {block_rows * sizeof(double), block_rows}, strides[] = {pitch};
  const auto block = lci::layout_t::strided(counts, strides, 1);
  for (uint64_t i = 0; i < count; ++i)
    lci::post_put_x(s.peer, s.buffer.get(), block_bytes, lci::COMP_NULL, 0, s.target)
        .layout(&block)
        .remote_layout(&block)
        .device(s.device)();
}

void put_and_signal(stage& s, size_t size) {
  lci::post_put_x(s.peer, s.buffer.get(), size, lci::COMP_NULL, 0, s.target)
      .remote_comp(s.signal)
      .device(s.device)();
}

void await_signal(stage& s) {
  ++s.expected;
  while (signals.load(std::memory_order_relaxed) < s.expected) lci::progress_x().device(s.device)();
}

/// There and back. A rank alone has both parts to play.
void ping_pong(stage& s, uint64_t count, size_t size) {
  for (uint64_t i = 0; i < count; ++i) {
    if (s.rank == 0) put_and_signal(s, size);
    await_signal(s);
    if (s.rank == s.peer) {
      put_and_signal(s, size);
      await_signal(s);
    } else if (s.rank == 1) {
      put_and_signal(s, size);
    }
  }
}

void barriers(stage& s, uint64_t count, size_t) {
  for (uint64_t i = 0; i < count; ++i) lci::barrier_x().device(s.device)();
}

struct kind {
  void (*operate)(stage&, uint64_t, size_t);
  bool both;          // the other rank takes part
  double operations;  // in a message of figure_of(), which counts a message and its answer as one
  const char* what;
};

kind kind_of(op_kind op) {
  switch (op) {
    case op_kind::put:
      return {put, false, 2, "puts to shared memory, each complete before the next"};
    case op_kind::get:
      return {get, false, 2, "gets from shared memory, each complete before the next"};
    case op_kind::atomic:
      return {fetch_add, false, 2, "64-bit fetch-and-add on shared memory, one after the other"};
    case op_kind::putsignal:
      return {ping_pong, true, 1, "a put with signal and its answer; one way"};
    case op_kind::strided:
      return {put_block, false, 2, "512 x 512 doubles out of 1024 x 1024, put into the same"};
    default:
      return {barriers, true, 2, "barriers, one after the other"};
  }
}

void measure_sizes(const options& o, stage& s, handoff& way, const kind& k, const reporter& out) {
  for (const size_t size : o.sizes) {
    uint64_t n = 0;
    std::vector<double> times = measure(o, 1, &n, [&](uint64_t count) {
      uint64_t command[2] = {count, size};
      if (k.both || way.wanted()) lci::broadcast(command, sizeof command, 0);
      way.lead();
      const double start = now_seconds();
      k.operate(s, count, size);
      return now_seconds() - start;
    });
    const double per_message = o.metric == metric_kind::latency ? k.operations : 1;
    for (double& t : times) t = figure_of(o.metric, t, static_cast<double>(n) / per_message, size);
    out.add(size, times, way.figures(o.rounds));
  }
}

}  // namespace

void run_one_sided(const options& o, int ranks, int rank) {
  bind_thread(o.bind, rank, 1, 0);
  const kind k = kind_of(o.op);
  const size_t largest = *std::max_element(o.sizes.begin(), o.sizes.end());
  stage s(o.op == op_kind::strided ? matrix_rows * matrix_rows * sizeof(double) : largest, ranks, rank);
  handoff way(o.with_handoff && ranks == 2, rank);
  uint64_t command[2] = {0, 0};
  if (rank == 0) {
    measure_sizes(o, s, way, k, reporter(o, ranks, {k.what, describe_binding(o.bind, ranks, 1)}));
    lci::broadcast(command, sizeof command, 0);  // the end
    return;
  }
  for (;;) {
    lci::broadcast(command, sizeof command, 0);
    if (command[0] == 0) return;
    way.answer();
    if (k.both) k.operate(s, command[0], command[1]);
  }
}

}  // namespace lci_perf
