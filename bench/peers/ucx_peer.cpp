// Runs lci_perf's measurements on UCX.
#include "bench/peers/start.hpp"
#include "bench/peers/ucx_window.hpp"

namespace peers {
namespace {

const program who = {
    "ucx",
    "itself: it forks",
    {op_kind::am, op_kind::sendrecv, op_kind::put, op_kind::get, op_kind::atomic, op_kind::putsignal, op_kind::strided},
    true};

/// This process's workers, connected to their partners. One for each end of a pair, or, if shared, one for all of them;
/// with one process, a shared worker is connected to itself.
class workers {
 public:
  workers(ucx_context& context, forked_job& all, const options& o)
      : job_(all), one_(!o.dedicated && (o.threads > 1 || all.ranks == 1)) {
    const bool threads = o.thread_safe || one_;
    const int n = one_ ? 1 : o.threads;
    const int sides = all.ranks == 1 && !one_ ? 2 : 1;
    for (int i = 0; i < n * sides; ++i) all_.push_back(std::make_unique<ucx_worker>(context, threads, is_crowded(o)));
    for (int i = 0; i < n * sides; ++i) publish(all, all.rank * n + i, *all_[static_cast<size_t>(i)]);
    all.barrier();
    for (int i = 0; i < n * sides; ++i) {
      const int me = all.rank * n + i;
      const int partner = one_ && all.ranks == 1 ? me : me < n ? me + n : me - n;
      all_[static_cast<size_t>(i)]->connect(all.look_up(partner));
    }
    // A process that waits in a barrier must still make progress, to establish connections.
    all.set_idle([this] {
      for (const auto& w : all_) w->progress();
    });
    first_of_receivers_ = sides == 2 ? static_cast<size_t>(n) : 0;
  }
  ~workers() {
    for (const auto& w : all_) w->disconnect();
    job_.barrier();
    job_.set_idle(nullptr);
  }
  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;

  static constexpr int numbers = 128;  // of publish(): limit for workers
  bool one() const { return one_; }
  ucx_worker& of(place where) {
    const size_t pair = one_ ? 0 : static_cast<size_t>(where.pair);
    return *all_[where.sends ? pair : first_of_receivers_ + pair];
  }

 private:
  static void publish(forked_job& all, int number, const ucx_worker& w) {
    const std::vector<char> address = w.address();
    all.publish(number, address.data(), address.size());
  }
  forked_job& job_;
  const bool one_;
  size_t first_of_receivers_ = 0;
  std::vector<std::unique_ptr<ucx_worker>> all_;
};

template <class End>
void measure_messages(const options& o, forked_job& all, workers& w) {
  two_sided<End> what(o, all, [&](place where) { return std::make_unique<End>(w.of(where), where, w.one()); });
  run(who, o, all, what);
}

int measure(const options& o) {
  lci_perf::core_count();  // reads the affinity mask before this thread is pinned
  forked_job all = forked_job::make(o.ranks, is_crowded(o));
  ucx_context context(o.threads > 1 || o.ranks == 1);
  workers w(context, all, o);
  if (is_one_sided(o.op)) {
    ucx_window memory(context, w.of({all.rank == 0, 0}), all, workers::numbers, window_bytes(o));
    one_sided<ucx_window> what(o, all, memory);
    run(who, o, all, what);
    all.barrier();  // neither may unmap before the other is done
  } else if (o.op == op_kind::am) {
    measure_messages<ucx_am_end>(o, all, w);
  } else {
    measure_messages<ucx_tag_end>(o, all, w);
  }
  return 0;
}

int start() {
  start_report report;
  forked_job all = forked_job::make(2, lci_perf::core_count() < 2);
  ucx_context context(false);
  workers w(context, all, {});
  report.library_is_up();
  const place where = {all.rank == 0, 0};
  ucx_am_end end(w.of(where), where, false);
  all.barrier();  // both have set their handlers
  report.exchange_first(end, all.rank);
  report.print(all.rank, all.ranks);
  return 0;
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
  return peers::asks_for_start(argc, argv) ? peers::start() : peers::measure(peers::parse(argc, argv, peers::who));
}
