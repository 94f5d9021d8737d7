// A rank of a job on several hosts, for tests in which the network fails: `partner SCENE RANKS_PER_HOST SECONDS`. It
// prints "ready" when it has exchanged a message with each rank, and "over" before it exits.
//
//   exchange  exchanges messages of all sizes with all ranks for SECONDS
//   waiting   makes progress, without sending, until the failure of each rank of another host has been reported; fails
//             if that takes longer than SECONDS. Then exchanges messages with the ranks of its own host
//   sending   the same, but sends to the ranks of other hosts until their failures have been reported
//   late      prints "ready" at once, exchanges a message with each rank SECONDS later, and exits
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "rank %d: FAILED: %s\n", lci::get_rank_me(), what.c_str());
  std::_Exit(1);
}

/// Sends a message to each of `ranks` and receives one from each.
void exchange_with(const std::set<int>& ranks, size_t size) {
  const auto me = static_cast<char>(lci::get_rank_me());
  std::vector<char> out(size, me);
  std::vector<std::vector<char>> in(static_cast<size_t>(lci::get_rank_n()), std::vector<char>(size, -1));
  auto sync = lci::alloc_sync_x().threshold(static_cast<int>(2 * ranks.size()))();
  for (const int r : ranks) {
    std::vector<char>& from = in[static_cast<size_t>(r)];
    while (lci::post_recv_x(r, from.data(), size, 1, sync).allow_done(false)().is_retry()) lci::progress();
    while (lci::post_send_x(r, out.data(), size, 1, sync).allow_done(false)().is_retry()) lci::progress();
  }
  while (!lci::sync_test(sync, nullptr)) lci::progress();
  lci::free_comp(&sync);
  for (const int r : ranks)
    if (in[static_cast<size_t>(r)] != std::vector<char>(size, static_cast<char>(r)))
      fail("the message of rank " + std::to_string(r) + " has the wrong content");
}

/// Exchanges messages for about `seconds`. All ranks do the same number of rounds, which rank 0 decides.
void exchange_for(const std::set<int>& ranks, double seconds) {
  int rounds = 0;
  for (const double end = now() + seconds;; ++rounds) {
    for (const size_t size : {8, 3000, 100'000}) exchange_with(ranks, size);
    int go_on = now() < end;
    lci::broadcast(&go_on, sizeof go_on, 0);
    if (go_on == 0) break;
  }
  if (lci::get_rank_me() == 0) std::printf("%d rounds\n", rounds + 1);
}

/// Returns when the failure of each of these ranks has been reported once. Exits with an error after `timeout_s`.
void await_failures(std::set<int> there, bool sends, double timeout_s) {
  auto counter = lci::alloc_counter();
  const auto rcomp = lci::register_rcomp(counter);
  const std::string text(1000, 'x');
  const double begin = now();
  while (!there.empty()) {
    if (now() - begin > timeout_s)
      fail("the failure of rank " + std::to_string(*there.begin()) + " was not reported for " +
           std::to_string(timeout_s) + " s");
    try {
      if (sends)
        for (const int r : there) (void)lci::post_am(r, text.data(), text.size(), lci::COMP_NULL_RETRY, rcomp);
    } catch (const lci::peer_failure_error&) {  // progress() reports the failure as well
    }
    try {
      lci::progress();
    } catch (const lci::peer_failure_error& e) {
      if (there.erase(e.failed_rank()) == 0) fail("reported twice: " + std::string(e.what()));
      std::printf("%s (after %.1f s)\n", e.what(), now() - begin);
    }
  }
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&counter);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: partner exchange|waiting|sending|late RANKS_PER_HOST SECONDS\n");
    return 2;
  }
  const std::string scene = argv[1];
  const int per_host = std::atoi(argv[2]);
  const double seconds = std::atof(argv[3]);
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  std::set<int> all, here, elsewhere;
  for (int r = 0; r < lci::get_rank_n(); ++r) {
    all.insert(r);
    (r / per_host == me / per_host ? here : elsewhere).insert(r);
  }
  const auto ready = [] {
    std::printf("ready\n");
    std::fflush(stdout);
  };
  if (scene == "late") {
    ready();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  exchange_with(all, 8);
  if (scene == "late") return lci::g_runtime_fina(), 0;
  ready();
  if (scene == "exchange") {
    exchange_for(all, seconds);
  } else {
    await_failures(elsewhere, scene == "sending", seconds);
    exchange_with(here, 8);
    exchange_with(here, 100'000);
  }
  lci::g_runtime_fina();
  std::printf("over\n");
  return 0;
} catch (const lci::peer_failure_error& first) {
  // A post reports only which rank has failed; progress() reports the reason.
  std::string what = first.what();
  try {
    for (int i = 0; i < 1000; ++i) lci::progress();
  } catch (const lci::peer_failure_error& reported) {
    what = reported.what();
  }
  fail(what);
}
