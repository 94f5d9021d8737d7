// A server that answers calls which it has not got: such a call ends, once, and so do later calls of the same handle.
#include <mercury_callback.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "lib/layers/mercury/wire.hpp"
#include "tests/layers/mercury/functions.hpp"
#include "tests/layers/mercury/tap.hpp"

namespace {

using namespace test;

constexpr const char* url = "tcp";

/// Accepts one call, and does not answer it.
int be_silent() {
  const network net(url, true);
  say(net.own_name());
  for (;;) pause();
}

/// Sends failures as answers to the first request of whoever has sent a call, as fast as possible.
int lie() {
  const network net(url, true);
  tap calls(net);
  say(net.own_name());
  const na_addr_t victim = calls.next(false).source;
  mercury::response_header h;
  h.result = HG_SIZE_ERROR;
  char message[sizeof h];
  const size_t size = mercury::seal_response(h, message);
  for (;;) {
    const na_return_t code = NA_Direct_try(net.c, message, size, victim, na::answer_bit);
    if (code == NA_TIMEOUT) NA_Progress(net.c, net.x, 0);
    if (code != NA_SUCCESS && code != NA_TIMEOUT) return 0;  // the victim has ended
    while (NA_Trigger(net.x, 0, 1, nullptr) == NA_SUCCESS) {
    }
  }
}

struct ends {
  std::atomic<int> n{0};
  std::atomic<int> wrong{0};
  static hg_return_t count(const hg_cb_info* info) {
    auto* const e = static_cast<ends*>(info->arg);
    if (info->ret != HG_SIZE_ERROR && e->wrong++ == 0)
      std::fprintf(stderr, "call %d has ended with %d\n", e->n.load(), static_cast<int>(info->ret));
    ++e->n;
    return HG_SUCCESS;
  }
};

/// One thread calls while another thread receives the answers, so calls end at any moment, also while they are sent. A
/// call to a third process, which waits for a credit, is in front of all others in NA's queue, so NA queues them, too.
void calls_that_end_before_they_are_sent() {
  setenv("NA_CALLS_PER_PEER", "1", 1);
  process silent({"silent"});
  unsetenv("NA_CALLS_PER_PEER");
  process liar({"lie"});
  const hg h(url);
  const na_addr_t there = h.find(liar.line()), nowhere = h.find(silent.line());
  hg_context_t* const context = HG_Context_create();
  hg_handle_t handle = HG_HANDLE_NULL, unanswered[2];
  REQUIRE_HG(HG_SUCCESS, HG_Create(context, there, h.ids.null, &handle));
  ends e;
  for (hg_handle_t& each : unanswered) {
    REQUIRE_HG(HG_SUCCESS, HG_Create(context, nowhere, h.ids.null, &each));
    REQUIRE_HG(HG_SUCCESS, HG_Forward(each, ends::count, &e, nullptr));
  }
  std::atomic<bool> over{false};
  std::thread receives([&] {
    while (!over) {
      (void)HG_Progress(context, 1);
      (void)HG_Trigger(context, 0, 64, nullptr);
    }
  });
  const double begin = now();
  int calls = 0;
  for (const double end = begin + 60; calls < 200'000 && now() < begin + 5; ++calls) {
    REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, ends::count, &e, nullptr));
    while (e.n <= calls) {
      sched_yield();
      REQUIRE(now() < end);
    }
    REQUIRE(e.n == calls + 1);
  }
  over = true;
  receives.join();
  std::fprintf(stderr, "%d calls, %d wrong\n", calls, e.wrong.load());
  REQUIRE(calls > 0 && e.wrong == 0);
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));
  for (hg_handle_t each : unanswered) REQUIRE_HG(HG_SUCCESS, HG_Destroy(each));
  while (HG_Trigger(context, 100, 64, nullptr) == HG_SUCCESS) {
  }
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(context));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "silent") return be_silent();
  if (role == "lie") return lie();
  calls_that_end_before_they_are_sent();
  return 0;
}
