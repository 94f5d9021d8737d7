#include "bench/lci_perf/one_sided.hpp"

#include <algorithm>
#include <thread>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"
#include "bench/lci_perf/together.hpp"

namespace lci_perf {
namespace {

int threads_of(const options& o, bool posts) { return posts || o.dedicated ? o.threads : 1; }

}  // namespace

actor::actor(lci::device_t on, size_t bytes, int my_rank, int peer_rank, bool collective, size_t offset)
    : device(on),
      rank(my_rank),
      peer(peer_rank),
      memory(alloc_pages(bytes, on)),
      mine(static_cast<char*>(lci::get_symmetric_address(memory, rank))),
      target(lci::get_symmetric_rmr(memory, peer)),
      local(lci::alloc_counter()),
      ended(lci::alloc_sync()),
      buffer(make_page_buffer(bytes, 1, offset)),
      result(make_page_buffer(collective ? bytes : 8, 0)) {
  std::memset(mine, 0, bytes);
  meet_on(device);
}

actor::~actor() {
  lci::free_comp(&local);
  lci::free_comp(&ended);
  free_pages(memory, device);
}

one_sided::one_sided(const options& o, int ranks, int rank)
    : options_(o),
      ranks_(ranks),
      rank_(rank),
      posts_(rank < posting_ranks(o, ranks)),
      n_threads_(threads_of(o, posts_)),
      crowded_(ranks * o.threads > core_count()),
      kind_(one_sided_kind_of(o.op)),
      handoff_(std::make_unique<handoff>(o.with_handoff && ranks == 2, rank)),
      barrier_(n_threads_, crowded_) {
  make_actors();
}

one_sided::~one_sided() {
  actors_.clear();
  for (lci::device_t& d : own_devices_) lci::free_device(&d);
}

void one_sided::make_actors() {
  size_t bytes = *std::max_element(options_.sizes.begin(), options_.sizes.end());
  if (is_strided(options_.op)) bytes = matrix_rows * matrix_rows * sizeof(double);
  const int peer = (rank_ + ranks_ / 2) % ranks_;
  for (int i = 0; i < options_.threads; ++i) {
    if (options_.dedicated) own_devices_.push_back(lci::alloc_device());
    actors_.push_back(std::make_unique<actor>(options_.dedicated ? own_devices_.back() : lci::get_default_device(),
                                              bytes, rank_, peer, is_collective(options_.op), options_.offset));
  }
  const roles r = {posts_, peer < posting_ranks(options_, ranks_)};
  for (const size_t size : options_.sizes) {
    for (const auto& a : actors_) {
      if (kind_.check != nullptr) kind_.check(*a, size, r);
    }
  }
}

void one_sided::run() {
  core_count();  // reads the affinity mask before this thread is pinned
  std::vector<std::thread> threads;
  for (int i = 1; i < n_threads_; ++i) threads.emplace_back([this, i] { run_or_die([&] { serve(i); }); });
  run_or_die([&] { rank_ == 0 ? lead() : serve(0); });
  for (std::thread& t : threads) t.join();
}

void one_sided::lead() {
  bind_thread(options_.bind, 0, options_.threads, 0);
  const options& o = options_;
  reporter out(o, ranks_, notes());
  const double at_once = is_collective(o.op) ? o.threads : o.threads * posting_ranks(o, ranks_);
  for (const size_t size : o.sizes) {
    uint64_t n = 0;
    std::vector<double> times = measure(o, 1, &n, [&](uint64_t count) {
      round(0, {count, size});
      return seconds_;
    });
    // Latency is that of one operation, not half of a round trip.
    const double messages = static_cast<double>(n) * (o.metric == metric_kind::latency ? 0.5 : at_once);
    for (double& t : times) t = figure_of(o.metric, t, messages, size);
    out.add({size, times, handoff_->figures(o.rounds), {}});
  }
  round(0, {});
}

void one_sided::serve(int i) {
  bind_thread(options_.bind, rank_, options_.threads, i);
  while (round(i, {})) {
  }
}

void one_sided::meet(actor& a) {
  if (!options_.dedicated) return barrier_.wait();
  waiter w(crowded_);
  barrier_.wait([&] {
    if (lci::progress_x().device(a.device)().is_retry()) w.idle();
  });
}

// Returns false at the end of the run. `order` is used at thread 0 of rank 0 only.
bool one_sided::round(int i, round_order order) {
  actor& a = *actors_[static_cast<size_t>(i)];
  if (i == 0) {
    lci::broadcast_x(&order, sizeof(order), 0).device(a.device)();
    order_ = order;
  }
  meet(a);
  order = order_;
  if (order.count == 0) return false;
  if (i == 0) rank_ == 0 ? handoff_->lead() : handoff_->answer();
  if (has_device(i)) lci::barrier_x().device(a.device)();
  meet(a);
  const double start = now_seconds();
  if (posts_) {
    const bool one_by_one = options_.metric == metric_kind::latency;
    kind_.operate(a, order.count, order.size, one_by_one ? 1 : options_.window);
    meet(a);
  }
  if (i == 0) seconds_ = posts_ ? now_seconds() - start : 0;
  if (has_device(i)) end_together(i);
  return true;
}

// A target may wait here for long while others access its memory: where cores are few it sleeps.
void one_sided::end_together(int i) {
  const actor& a = *actors_[static_cast<size_t>(i)];
  const double mine = i == 0 ? seconds_ : 0;
  double longest = 0;
  lci::allreduce_x(&mine, &longest, 1, sizeof(double), larger).device(a.device).comp(a.ended)();
  lci::sync_wait_for_x(a.ended, -1.0, nullptr).device(a.device).park(crowded_)();
  if (i == 0) seconds_ = longest;
}

std::vector<std::string> one_sided::notes() const {
  const options& o = options_;
  std::string line = kind_.what;
  if (!is_collective(o.op)) {
    line += o.metric == metric_kind::latency ? ", each complete before the next"
                                             : ", at most " + std::to_string(o.window) + " of a thread under way";
  }
  std::vector<std::string> out = {line};
  if (o.threads > 1) {
    out.push_back(std::to_string(o.threads) + " threads of a rank, each on memory of its own, " +
                  (o.dedicated ? "a device each" : "one shared device"));
  }
  out.push_back(describe_binding(o.bind, ranks_, o.threads));
  if (o.offset != 0) out.push_back(note_of_offset(o.offset));
  if (crowded_) out.push_back("more threads than cores");
  return out;
}

}  // namespace lci_perf
