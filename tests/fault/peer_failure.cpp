// A process of the job is killed during communication: the others get its rank, and continue without it. Started as
// `lcirun -n 3 sh survivors.sh peer_failure`: the shell in between hides the failure from the launcher, which would end
// the whole job.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <string>
#include <vector>

namespace {

int failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d: FAILED: %s\n", lci::get_rank_me(), what);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Makes progress for `seconds`, or until progress() throws; returns the rank whose failure was reported, or -1.
int progress_until_failure(double seconds) {
  for (const double end = now() + seconds; now() < end;) {
    try {
      if (!lci::progress().is_done()) usleep(100);
    } catch (const lci::peer_failure_error& e) {
      return e.failed_rank();
    }
  }
  return -1;
}

/// The scenes "putting" and "getting": rank 0 moves long pieces into or out of the memory of the victim, which
/// is killed during some of them. Returns the rank whose failure progress() has reported.
int move_until_failure(const std::string& scene, int victim, std::vector<char>& here, lci::rmr_t there,
                       lci::rcomp_t rcomp) {
  auto ended = lci::alloc_cq();
  int failed = -1, under_way = 0;
  bool refused = false;
  for (const double end = now() + 20; (failed < 0 || under_way > 0) && now() < end;) {
    try {
      if (failed < 0 && !refused && under_way < 4) {
        const lci::status_t s =
            scene == "putting"
                ? lci::post_put_x(victim, here.data(), here.size(), ended, 0, there).remote_comp(rcomp)()
                : lci::post_get_x(victim, here.data(), here.size(), ended, 0, there).remote_comp(rcomp)();
        under_way += s.is_posted() ? 1 : 0;
      }
    } catch (const lci::peer_failure_error& e) {
      expect(e.failed_rank() == victim, "the post names the failed rank");
      refused = true;
    }
    const int reported = progress_until_failure(0.001);
    expect(reported < 0 || failed < 0, "a failure is reported once");
    if (reported >= 0) failed = reported;
    for (lci::status_t s = lci::cq_pop(ended); !s.is_retry(); s = lci::cq_pop(ended)) {
      expect(s.is_done() || s.error.errorcode == lci::errorcode_t::fatal, "an operation is done or has failed");
      expect(s.rank == victim, "its status names the peer");
      --under_way;
    }
  }
  expect(under_way == 0, "all operations in flight have ended");
  lci::free_comp(&ended);
  return failed;
}

}  // namespace

/// Scenes in which no rank has communicated with the victim, so none has mapped its memory.
int unconnected(const std::string& scene) {
  const int me = lci::get_rank_me(), victim = lci::get_rank_n() - 1;
  auto counter = lci::alloc_counter();
  const auto rcomp = lci::register_rcomp(counter);
  const auto end_runtime = [&] {
    lci::deregister_rcomp(rcomp);
    lci::free_comp(&counter);
    lci::g_runtime_fina();
  };
  const auto post_times = [&](int n) {
    try {
      for (int i = 0; i < n; ++i) (void)lci::post_am(victim, "x", 1, lci::COMP_NULL_RETRY, rcomp);
    } catch (const lci::peer_failure_error& e) {
      return e.failed_rank() == victim;
    }
    return false;
  };
  const auto post = [&] { return post_times(1000); };
  const auto post_once = [&] { return post_times(1); };
  if (me == victim) {
    if (scene == "unconnected" || scene == "unconnected without descriptors left") std::raise(SIGKILL);
    end_runtime();
    if (scene == "unconnected that exits") return 0;
    // "unconnected whose descriptors were reused": from now on their numbers belong to other files.
    std::vector<std::FILE*> files;
    for (int i = 0; i < 100; ++i) files.push_back(std::tmpfile());
    sleep(3);
    for (std::FILE* f : files) {
      expect(f != nullptr && std::fseek(f, 0, SEEK_END) == 0 && std::ftell(f) == 0,
             "files that the process opened later are not written");
      std::fclose(f);
    }
    return failures == 0 ? 0 : 1;
  }
  usleep(500'000);
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  const auto open_files_at_most = [&](rlim_t n) {
    const rlimit limit{n, files.rlim_max};
    expect(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit can be set");
  };
  if (scene == "unconnected without descriptors left") open_files_at_most(3);
  expect(progress_until_failure(1) == -1, "progress() does not throw for a rank without a connection to this one");
  bool refused = post();
  // Posts to the victim may be done until its end is detected. From now on this rank has communicated with it.
  for (const double end = now() + 20; !refused && now() < end; refused = post()) {
    const int failed = progress_until_failure(0.01);
    expect(failed == -1 || failed == victim, "progress() reports which rank has failed");
    if (failed == -1) continue;
    expect(post_once(), "a post to a rank whose failure was reported throws");
  }
  open_files_at_most(files.rlim_cur);
  expect(refused, "a post to a rank that has ended throws");
  end_runtime();
  return failures == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  const std::string scene = argc > 1 ? argv[1] : "idle";
  lci::g_runtime_init();
  if (scene.rfind("unconnected", 0) == 0) return unconnected(scene);
  const int me = lci::get_rank_me(), n = lci::get_rank_n(), victim = n - 1;
  auto cq = lci::alloc_cq();
  auto counter = lci::alloc_counter();
  auto sync = lci::alloc_sync();
  auto survived = lci::alloc_counter();
  const auto rcomp = lci::register_rcomp(counter), among_survivors = lci::register_rcomp(survived);
  std::vector<char> large(200'000, 'x'), in(200'000);
  const bool rma = scene == "putting" || scene == "getting";
  std::vector<char> window(rma ? size_t{8} << 20 : 0);
  lci::mr_t mr;
  lci::rmr_t of_victim;

  // All ranks exchange a message with each other, so all are connected.
  char token = 't';
  for (int r = 0; r < n; ++r) {
    char got;
    lci::status_t s = lci::post_recv(r, &got, 1, 1, sync);
    while (lci::post_send(r, &token, 1, 1, lci::COMP_NULL_RETRY).is_retry()) lci::progress();
    if (s.is_posted()) lci::sync_wait(sync, nullptr);
  }

  if (rma && me == victim) {
    mr = lci::register_memory(window.data(), window.size());
    of_victim = lci::get_rmr(mr);
    while (lci::post_send(0, &of_victim, sizeof of_victim, 4, lci::COMP_NULL_RETRY).is_retry()) lci::progress();
  } else if (rma && me == 0) {
    const lci::status_t s = lci::post_recv(victim, &of_victim, sizeof of_victim, 4, sync);
    if (s.is_posted()) lci::sync_wait(sync, nullptr);
  }

  // The victim waits until all others are connected, since a failure may be reported before messages that were sent
  // earlier.
  if (me == victim) {
    for (int r = 0; r < victim; ++r) {
      char got;
      const lci::status_t s = lci::post_recv(r, &got, 1, 8, sync);
      if (s.is_posted()) lci::sync_wait(sync, nullptr);
    }
  } else {
    while (lci::post_send(victim, &token, 1, 8, lci::COMP_NULL_RETRY).is_retry()) lci::progress();
  }

  if (me == victim) {
    if (scene == "sending")  // a rendezvous without an answer
      (void)lci::post_send_x(0, large.data(), large.size(), 2, cq).allow_done(false)();
    if (scene == "flooding")
      for (int i = 0; i < 100'000; ++i)
        if (lci::post_am(0, large.data(), 100, lci::COMP_NULL_RETRY, rcomp).is_retry()) break;
    if (scene == "streaming") {  // large messages, of which some are in flight and others wait
      for (int i = 0; i < 24; ++i)
        (void)lci::post_am_x(0, large.data(), large.size(), counter, rcomp).allow_done(false)();
      while (lci::counter_get(counter) < 4) lci::progress();
    }
    if (rma)
      while (lci::counter_get(counter) < 3) lci::progress();
    std::raise(SIGKILL);
  }

  if (scene == "sending") usleep(200'000);
  lci::status_t s;
  if (scene == "waiting")  // for a message that does not arrive
    expect(lci::post_recv(victim, in.data(), in.size(), 3, cq).is_posted(), "a receive is posted");
  bool threw_early = false;
  if (scene == "sending" && me == 0) {
    try {
      (void)lci::post_recv(victim, in.data(), in.size(), 2, cq);
    } catch (const lci::peer_failure_error& e) {
      threw_early = e.failed_rank() == victim;
    }
  }

  if (rma && me == 0)
    expect(move_until_failure(scene, victim, window, of_victim, rcomp) == victim,
           "progress() reports which rank has failed");
  else if (!threw_early)
    expect(progress_until_failure(20) == victim, "progress() reports which rank has failed");
  // From now on each kind of post throws.
  char byte = 'b';
  const auto refused = [&](const char* what, auto&& post) {
    try {
      (void)post();
      expect(false, what);
    } catch (const lci::peer_failure_error& e) {
      expect(e.failed_rank() == victim, "the post names the failed rank");
    }
  };
  refused("an active message to the failed rank throws",
          [&] { return lci::post_am(victim, large.data(), 8, lci::COMP_NULL_RETRY, rcomp); });
  refused("a send to the failed rank throws",
          [&] { return lci::post_send(victim, &byte, 1, 3, lci::COMP_NULL_RETRY); });
  refused("a large send to the failed rank throws",
          [&] { return lci::post_send(victim, large.data(), large.size(), 3, cq); });

  // The surviving ranks can still communicate, with small and large messages.
  for (int r = 0; r < victim; ++r) {
    if (r == me) continue;
    s = lci::post_recv(r, in.data(), in.size(), 9, sync);
    auto sent = lci::alloc_sync();
    lci::status_t t;
    do t = lci::post_send_x(r, large.data(), large.size(), 9, sent).allow_done(false)();
    while (t.is_retry());
    if (s.is_posted()) expect(lci::sync_wait_for(sync, 20.0, &s), "a message of a running rank arrives");
    expect(lci::sync_wait_for(sent, 20.0, nullptr), "a message to a running rank is delivered");
    expect(s.rank == r && s.size == large.size(), "it is the right message");
    do t = lci::post_am_x(r, large.data(), large.size(), sent, among_survivors).allow_done(false)();
    while (t.is_retry());
    expect(lci::sync_wait_for(sent, 20.0, nullptr), "an active message to a running rank is delivered");
    const double late = now() + 20;
    while (lci::counter_get(survived) == 0 && now() < late) lci::progress();
    expect(lci::counter_get(survived) == 1, "an active message of a running rank arrives");
    lci::free_comp(&sent);
  }
  const double begin = now();
  lci::free_comp(&sync);
  lci::g_runtime_fina();
  expect(now() - begin < 10, "the runtime can be freed");
  lci::free_comp(&cq);
  lci::free_comp(&counter);
  lci::free_comp(&survived);
  return failures == 0 ? 0 : 1;
}
