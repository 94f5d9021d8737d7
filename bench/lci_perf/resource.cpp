#include "bench/lci_perf/resource.hpp"

#include <lci.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {
namespace {

/// The objects, shared by all threads.
struct parts {
  explicit parts(bool is_crowded)
      : queue(lci::alloc_cq()), engine(lci::alloc_matching_engine()), crowded(is_crowded) {}
  ~parts() {
    lci::free_matching_engine(&engine);
    lci::free_comp(&queue);
  }
  parts(const parts&) = delete;
  parts& operator=(const parts&) = delete;
  lci::comp_t queue;
  lci::matching_engine_t engine;
  const bool crowded;  // threads outnumber cores
};

/// One pushed, one popped: another thread's, perhaps.
void use_queue(parts& p, int, uint64_t count) {
  lci::status_t status;
  status.set_done();
  waiter w(p.crowded);
  for (uint64_t i = 0; i < count; ++i) {
    lci::comp_signal(p.queue, status);
    while (lci::cq_pop(p.queue).is_retry()) w.idle();
  }
}

/// As many keys as messages may be under way; no other thread has them.
void use_matching(parts& p, int thread, uint64_t count) {
  constexpr uint64_t keys = 1024;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t key = static_cast<uint64_t>(thread) * keys + i % keys;
    lci::matching_engine_insert(p.engine, key, &p, lci::matching_entry_type_t::recv);
    if (lci::matching_engine_insert(p.engine, key, &p, lci::matching_entry_type_t::send) != &p)
      throw std::runtime_error("a matching engine lost a value");
  }
}

void use_packets(parts&, int, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    void* const packet = lci::get_upacket();
    if (packet == nullptr) throw std::runtime_error("the packet pool is empty");
    lci::put_upacket(packet);
  }
}

class crew {
 public:
  explicit crew(const options& o)
      : options_(o),
        use_(o.metric == metric_kind::queue      ? use_queue
             : o.metric == metric_kind::matching ? use_matching
                                                 : use_packets),
        parts_(o.threads > core_count()),
        barrier_(o.threads, parts_.crowded) {
    for (int i = 1; i < o.threads; ++i) {
      threads_.emplace_back([this, i] { run_or_die([&] { work(i); }); });
    }
    bind_thread(o.bind, 0, o.threads, 0);
  }
  ~crew() {
    count_ = 0;
    barrier_.wait();
    for (std::thread& t : threads_) t.join();
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  /// Seconds that `count` operations of each thread take.
  double round(uint64_t count) {
    count_ = count;
    barrier_.wait();
    const double start = now_seconds();
    use_(parts_, 0, count);
    barrier_.wait();
    return now_seconds() - start;
  }

 private:
  void work(int i) {
    bind_thread(options_.bind, 0, options_.threads, i);
    for (;;) {
      barrier_.wait();
      if (count_ == 0) return;
      use_(parts_, i, count_);
      barrier_.wait();
    }
  }

  const options& options_;
  void (*const use_)(parts&, int, uint64_t);
  parts parts_;
  spin_barrier barrier_;
  uint64_t count_ = 0;  // of the round; written before the barrier that begins it
  std::vector<std::thread> threads_;
};

}  // namespace

void run_resource(const options& o) {
  const reporter out(
      o, 1,
      {"one for all threads; an operation is a pair: in and out", describe_binding(o.bind, 1, o.threads)});
  crew all(o);
  uint64_t n = 0;
  std::vector<double> figures = measure(o, 1, &n, [&](uint64_t count) { return all.round(count); });
  for (double& t : figures) t = figure_of(o.metric, t, static_cast<double>(n) * o.threads, 0);
  out.add(0, figures);
}

}  // namespace lci_perf
