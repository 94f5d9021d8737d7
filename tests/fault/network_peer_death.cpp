// A process of the job is killed, on a network that notices by what is sent to it: who sends is told who
// it was, the living go on. One that leaves politely is no failure. For any backend between hosts:
// `LCI_ATTR_BACKEND=... lcirun -n 3 sh shm_survivors.sh network_peer_death`.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <lci.hpp>

namespace {

int failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d: FAILED: %s\n", lci::get_rank_me(), what);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me(), victim = lci::get_rank_n() - 1;
  auto counter = lci::alloc_counter();
  const auto rcomp = lci::register_rcomp(counter);
  lci::barrier();
  if (me == victim) {
    for (const double end = now() + 0.5; now() < end;) lci::progress();  // the others leave the barrier
    raise(SIGKILL);
  }

  const double begin = now();
  int told = -1;
  while (told < 0 && now() < begin + 30) {
    try {
      (void)lci::post_am(victim, "x", 1, lci::COMP_NULL_RETRY, rcomp);
      lci::progress();
      usleep(1000);
    } catch (const lci::peer_failure_error& e) {
      told = e.failed_rank();
    }
  }
  std::printf("rank %d: told of rank %d after %.1f s\n", me, told, now() - begin);
  expect(told == victim, "who sends is told which rank has failed");
  // A post may have been told before progress() was, which says it once.
  try {
    for (const double end = now() + 1; now() < end; usleep(1000)) lci::progress();
  } catch (const lci::peer_failure_error& e) {
    expect(e.failed_rank() == victim, "progress() names the failed rank");
  }
  try {
    (void)lci::post_am(victim, "x", 1, lci::COMP_NULL_RETRY, rcomp);
    expect(false, "a post to the failed rank throws");
  } catch (const lci::peer_failure_error& e) {
    expect(e.failed_rank() == victim, "the post names the failed rank");
  }

  // The living still reach each other.
  for (int r = 0; r < victim; ++r) {
    if (r == me) continue;
    char in = 0;
    auto sync = lci::alloc_sync();
    lci::status_t s = lci::post_recv(r, &in, 1, 9, sync);
    while (lci::post_send(r, "y", 1, 9, lci::COMP_NULL_RETRY).is_retry()) lci::progress();
    if (s.is_posted()) expect(lci::sync_wait_for(sync, 20.0, &s), "a message of a living rank arrives");
    expect(in == 'y', "it is the right one");
    lci::free_comp(&sync);
  }
  // One leaves; the other makes progress, hears of no failure, and follows.
  try {
    for (const double end = now() + 4; me == 0 && now() < end; usleep(1000)) lci::progress();
  } catch (const lci::peer_failure_error&) {
    expect(false, "who leaves has not failed");
  }
  const double leaving = now();
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&counter);
  lci::g_runtime_fina();
  expect(now() - leaving < 5, "the runtime can be freed");
  return failures == 0 ? 0 : 1;
}
