// Objects that are freed while they are in use, and concurrent starts: misuse is refused where LCI can detect it.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

int wrong = 0, right = 0;

void expect(bool good, const char* what) {
  ++(good ? right : wrong);
  std::printf("%s %s\n", good ? "PASSED" : "FAILED", what);
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const lci::invalid_argument_error& e) {
    return e.what();
  }
  return {};
}

void start_four_times_at_once() {
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> begun{0};
    lci::runtime_t made[4];
    std::vector<std::thread> threads;
    for (lci::runtime_t& mine : made)
      threads.emplace_back([&] {
        for (++begun; begun < 4;) std::this_thread::yield();
        mine = lci::g_runtime_init();
      });
    for (auto& t : threads) t.join();
    for (const lci::runtime_t& each : made)
      if (each != lci::get_g_runtime()) return expect(false, "four threads at once make one default runtime");
    for (int i = 0; i < 4; ++i) {
      if (lci::get_g_runtime().is_empty()) return expect(false, "the last of as many ends the default runtime");
      lci::g_runtime_fina();
    }
  }
  expect(lci::get_g_runtime().is_empty(), "four threads at once make one default runtime, and the last ends it");
}

lci::device_t victim;
std::string in_handler[2];

void free_things(lci::status_t) {
  lci::runtime_t rt = lci::get_g_runtime();
  in_handler[0] = refusal([] { lci::free_device(&victim); });
  in_handler[1] = refusal([&] { lci::free_runtime(&rt); });
}

void free_in_a_handler() {
  lci::g_runtime_init();
  victim = lci::alloc_device();
  lci::comp_t handler = lci::alloc_handler(free_things);
  char b[8] = {};
  (void)lci::post_send_x(0, b, 8, 1, lci::COMP_NULL).device(victim)();
  (void)lci::post_recv_x(0, b, 8, 1, handler).device(victim).allow_done(false)();
  while (in_handler[1].empty()) lci::progress_x().device(victim)();
  expect(in_handler[0].find("handler") != std::string::npos, "a handler may not free a device");
  expect(in_handler[1].find("handler") != std::string::npos, "a handler may not free the runtime");
  lci::free_device(&victim);
  lci::free_comp(&handler);
  lci::g_runtime_fina();
}

void free_while_another_thread_makes_progress() {
  const char* check = std::getenv("LCI_ATTR_CHECK");
  if (check == nullptr || std::string(check) != "1") return;
  lci::g_runtime_init();
  int refused_free = 0, refused_progress = 0;
  for (int round = 0; round < 20; ++round) {
    lci::device_t device = lci::alloc_device();
    std::atomic<bool> going{false}, stop{false};
    std::string in_thread;
    std::thread thread([&, device] {
      in_thread = refusal([&] {
        while (!stop) {
          lci::progress_x().device(device)();
          going = true;
        }
      });
    });
    while (!going) std::this_thread::yield();
    // If the free comes between two calls of that thread, the device is not in use, and its next call is refused.
    const std::string here = refusal([&] { lci::free_device(&device); });
    if (here.empty())
      ++refused_progress;
    else
      ++refused_free;
    if (!here.empty()) stop = true;
    thread.join();
    if (here.empty() && in_thread.empty()) return expect(false, "a freed device can't make progress");
    if (!here.empty()) lci::free_device(&device);
  }
  std::printf("%d times the free was refused, %d times the progress after it\n", refused_free, refused_progress);
  expect(true, "a device is not freed under a thread that makes progress on it");
  lci::g_runtime_fina();
}

void free_a_packet_twice() {
  const char* check = std::getenv("LCI_ATTR_CHECK");
  if (check == nullptr || std::string(check) != "1") return;
  lci::g_runtime_init();
  void* const packet = lci::get_upacket();
  lci::put_upacket(packet);
  expect(refusal([&] { lci::put_upacket(packet); }).find("packet that is free") != std::string::npos,
         "a packet is not freed twice");
  expect(!refusal([&] { (void)lci::post_send(0, packet, 8, 1, lci::COMP_NULL); }).empty(),
         "a packet that is free is not sent");
  void* const sent = lci::get_upacket();
  char b[8];
  lci::comp_t counter = lci::alloc_counter();
  (void)lci::post_send(0, sent, 8, 1, lci::COMP_NULL);
  (void)lci::post_recv_x(0, b, 8, 1, counter).allow_done(false)();
  expect(lci::counter_wait_for(counter, 1, 30), "the packet's message arrives");
  expect(!refusal([&] { lci::put_upacket(sent); }).empty(), "a packet that a message took over is not freed again");
  lci::free_comp(&counter);
  lci::g_runtime_fina();
}

void free_a_registered_object() {
  lci::g_runtime_init();
  lci::comp_t counter = lci::alloc_counter(), other = lci::alloc_counter();
  const lci::rcomp_t rcomp = lci::register_rcomp(counter);
  lci::free_comp(&counter);
  char b[8] = {};
  (void)lci::post_am(0, b, 8, lci::COMP_NULL, rcomp);
  for (int i = 0; i < 100; ++i) lci::progress();
  expect(refusal([&] { lci::deregister_rcomp(rcomp); }).empty(), "an object may be freed before it is deregistered");
  expect(!refusal([&] { lci::deregister_rcomp(rcomp); }).empty(), "freeing a registered object ends its registration");
  const lci::rcomp_t next = lci::register_rcomp(other);
  (void)lci::post_am(0, b, 8, lci::COMP_NULL, next);
  expect(lci::counter_wait_for(other, 1, 30), "further registrations work");
  lci::free_comp(&other);
  lci::g_runtime_fina();
}

void free_in_the_wrong_order() {
  lci::g_runtime_init();
  static char memory[64];
  lci::device_t device = lci::alloc_device();
  lci::mr_t mr = lci::register_memory_x(memory, sizeof memory).device(device)();
  lci::free_device(&device);
  expect(!refusal([&] { (void)lci::get_rmr(mr); }).empty(), "a registration ends with its device");
  lci::deregister_memory(&mr);
  expect(mr.is_empty(), "its handle can still be emptied");
  lci::matching_engine_t engine = lci::alloc_matching_engine();
  lci::packet_pool_t pool = lci::alloc_packet_pool();
  lci::g_runtime_fina();
  expect(!refusal([&] { lci::free_matching_engine(&engine); }).empty(),
         "a matching engine can't be freed after its runtime");
  expect(!refusal([&] { lci::free_packet_pool(&pool); }).empty(), "a packet pool can't be freed after its runtime");
}

struct {
  lci::symmetric_t memory;
  std::string refused;
  bool is_kept = false;
} symmetric;

void free_symmetric_memory_at_a_wrong_time() {
  lci::g_runtime_init();
  lci::device_t device = lci::alloc_device();
  symmetric.memory = lci::alloc_symmetric_x(64).device(device)();
  lci::comp_t handler = lci::alloc_handler([](lci::status_t) {
    symmetric.refused = refusal([] { lci::free_symmetric(&symmetric.memory); });
    symmetric.is_kept = !symmetric.memory.is_empty();
  });
  char b[8] = {};
  (void)lci::post_send_x(0, b, 8, 1, lci::COMP_NULL).device(device)();
  (void)lci::post_recv_x(0, b, 8, 1, handler).device(device).allow_done(false)();
  while (symmetric.refused.empty()) lci::progress_x().device(device)();
  expect(symmetric.is_kept && symmetric.refused.find("handler") != std::string::npos,
         "a handler may not free symmetric memory, which stays");
  lci::free_symmetric(&symmetric.memory);
  symmetric.memory = lci::alloc_symmetric_x(64).device(device)();
  lci::free_device(&device);
  expect(refusal([] { lci::free_symmetric(&symmetric.memory); }).find("free_device") != std::string::npos,
         "symmetric memory can't be freed after its device");
  lci::free_comp(&handler);
  lci::g_runtime_fina();
}

void end_once_too_often() {
  lci::g_runtime_init();
  lci::g_runtime_fina();
  const std::string text = refusal([] { lci::g_runtime_fina(); });
  expect(text.rfind("g_runtime_fina: ", 0) == 0, "a g_runtime_fina without its g_runtime_init is refused by name");
}

}  // namespace

int main() {
  end_once_too_often();
  start_four_times_at_once();
  free_in_a_handler();
  free_while_another_thread_makes_progress();
  free_a_packet_twice();
  free_a_registered_object();
  free_in_the_wrong_order();
  free_symmetric_memory_at_a_wrong_time();
  std::printf("cases: %d passed, %d failed, 0 skipped\n", right, wrong);
  return wrong == 0 ? 0 : 1;
}
