// Runs lci_perf's measurements on libfabric, with an endpoint for each thread.
#include "bench/peers/fabric_end.hpp"
#include "bench/peers/forked_job.hpp"
#include "bench/peers/start.hpp"

namespace peers {
namespace {

const program who = {"libfabric", "itself: it forks", {op_kind::sendrecv}, true};

int measure(const options& o) {
  if (o.ranks != 2 || (o.threads > 1 && !o.dedicated))
    die(who.name, "measured with two processes, and with --dedicated where they have threads");
  lci_perf::core_count();  // reads the affinity mask before this thread is pinned
  forked_job all = forked_job::make(o.ranks, is_crowded(o));
  const fabric_domain on(o.provider, o.threads > 1 || o.thread_safe);
  std::vector<fabric_end*> ends;
  two_sided<fabric_end> what(o, all, [&](place where) {
    auto end = std::make_unique<fabric_end>(on, is_crowded(o));
    const std::vector<char> address = end->address();
    all.publish(all.rank * o.threads + where.pair, address.data(), address.size());
    ends.push_back(end.get());
    return end;
  });
  all.barrier();
  for (int pair = 0; pair < o.threads; ++pair)
    ends[static_cast<size_t>(pair)]->connect(all.look_up((1 - all.rank) * o.threads + pair));
  all.set_idle([&] {
    for (fabric_end* end : ends) end->progress();
  });
  run(who, o, all, what);
  all.barrier();
  return 0;
}

int start(const char* provider) {
  start_report report;
  forked_job all = forked_job::make(2, lci_perf::core_count() < 2);
  const fabric_domain on(provider, false);
  fabric_end end(on, lci_perf::core_count() < 2);
  const std::vector<char> address = end.address();
  all.publish(all.rank, address.data(), address.size());
  all.barrier();
  end.connect(all.look_up(1 - all.rank));
  report.library_is_up();
  report.exchange_first(end, all.rank);
  report.print(all.rank, all.ranks);
  all.set_idle([&] { end.progress(); });
  all.barrier();
  return 0;
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
  if (peers::asks_for_start(argc, argv)) return peers::start("shm");
  return peers::measure(peers::parse(argc, argv, peers::who));
}
