// If a process that uses the library forks, the child's calls are refused and have no effect on the parent. The child
// may call exec(), _exit() and exit(), and starts anew by restart_after_fork(). Rank 0 forks; afterwards both ranks
// continue.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <lci.hpp>
#include <string>

namespace {

int wrong = 0, right = 0;

void expect(bool good, const std::string& what) {
  ++(good ? right : wrong);
  if (!good) std::printf("FAILED %s\n", what.c_str());
}

/// Makes many calls; returns how many were not refused with a text that names fork().
int try_all(lci::device_t device, lci::comp_t counter, lci::comp_t sync, lci::mr_t mr, lci::rcomp_t rcomp) {
  char b[8] = {};
  static char large[100'000];
  const struct {
    const char* what;
    std::function<void()> call;
  } calls[] = {
      {"post_am", [&] { (void)lci::post_am(1, b, 8, lci::COMP_NULL_RETRY, rcomp); }},
      {"post_send", [&] { (void)lci::post_send(1, b, 8, 1, lci::COMP_NULL_RETRY); }},
      {"post_send of a large message", [&] { (void)lci::post_send(1, large, sizeof large, 1, counter); }},
      {"post_recv", [&] { (void)lci::post_recv(1, b, 8, 1, counter); }},
      {"post_put", [&] { (void)lci::post_put(0, b, 8, lci::COMP_NULL_RETRY, 0, lci::rmr_t()); }},
      {"progress", [&] { (void)lci::progress(); }},
      {"progress on a device that is named", [&] { (void)lci::progress_x().device(device)(); }},
      {"post_am to a device that is named",
       [&] { (void)lci::post_am_x(1, b, 8, lci::COMP_NULL_RETRY, rcomp).device(device)(); }},
      {"sync_wait", [&] { lci::sync_wait(sync, nullptr); }},
      {"counter_get", [&] { (void)lci::counter_get(counter); }},
      {"alloc_counter", [] { (void)lci::alloc_counter(); }},
      {"alloc_device", [] { (void)lci::alloc_device(); }},
      {"alloc_runtime", [] { (void)lci::alloc_runtime(); }},
      {"g_runtime_init", [] { (void)lci::g_runtime_init(); }},
      {"register_memory", [&] { (void)lci::register_memory(b, 8); }},
      {"get_rmr", [&] { (void)lci::get_rmr(mr); }},
      {"get_upacket", [] { (void)lci::get_upacket(); }},
      {"barrier", [] { lci::barrier(); }},
      {"wait_drained", [] { lci::wait_drained(); }},
  };
  int accepted = 0;
  for (const auto& c : calls) {
    std::string text = "nothing was thrown";
    try {
      c.call();
    } catch (const lci::invalid_argument_error& e) {
      text = e.what();
    }
    if (text.find("fork()") != std::string::npos) continue;
    std::printf("FAILED %s in a forked child: %s\n", c.what, text.c_str());
    ++accepted;
  }
  // Calls that destructors make are allowed.
  try {
    lci::free_comp(&counter);
    lci::deregister_memory(&mr);
    lci::free_device(&device);
    lci::g_runtime_fina();
    lci::global_finalize();
    accepted += !counter.is_empty() + !mr.is_empty() + !device.is_empty();
  } catch (const std::exception& e) {
    std::printf("FAILED to free something in a forked child: %s\n", e.what());
    ++accepted;
  }
  accepted += lci::get_rank_me() != 0;
  std::fflush(stdout);
  return accepted;
}

/// Forks a child that runs `body`; returns its wait status.
int status_of_child(const std::function<int()>& body, bool by_exit = false) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int code = body();
    if (by_exit) std::exit(code);
    _exit(code);
  }
  int how = -1;
  waitpid(child, &how, 0);
  return how;
}

/// A child that starts anew, and a grandchild that does so once more: the one sends a message to the other.
int talk_as_own_processes() {
  return status_of_child([] {
    lci::restart_after_fork();
    lci::global_attr_t attr = lci::get_g_default_attr();
    attr.backend = lci::attr_backend_t::shm;  // whatever the ranks use
    lci::set_g_default_attr(attr);
    lci::runtime_t own = lci::alloc_runtime_x().bootstrap("none")();
    lci::comp_t queue = lci::alloc_cq_x().runtime(own)();
    if (lci::register_rcomp_x(queue).runtime(own)() != 1) return 2;
    const std::string address = lci::get_address_x().runtime(own)();
    const lci::device_t device = lci::get_default_device_x().runtime(own)();
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      lci::restart_after_fork();
      lci::runtime_t mine = lci::alloc_runtime_x().bootstrap("none")();
      const int parent = lci::connect_x(address).runtime(mine)().rank;
      const int64_t number = 4711;
      lci::post_am_x(parent, &number, sizeof number, lci::COMP_NULL, 1).runtime(mine)();
      lci::disconnect_x(parent).runtime(mine)();
      lci::free_runtime(&mine);
      _exit(0);
    }
    const lci::status_t s = lci::cq_wait_for_x(queue, 30).device(device)();
    int64_t number = 0;
    if (s.is_done() && s.size == sizeof number) std::memcpy(&number, s.buffer, sizeof number);
    std::free(s.buffer);
    int ended = -1;
    waitpid(grandchild, &ended, 0);
    lci::free_comp_x(&queue).runtime(own)();
    lci::free_runtime(&own);
    return number == 4711 && ended == 0 ? 0 : 3;
  });
}

}  // namespace

int main() {
  lci::g_runtime_init();
  lci::comp_t counter = lci::alloc_counter(), sync = lci::alloc_sync();
  const lci::rcomp_t rcomp = lci::register_rcomp(counter);
  char memory[64];
  lci::mr_t mr = lci::register_memory(memory, sizeof memory);
  lci::device_t second = lci::alloc_device();
  const int other = 1 - lci::get_rank_me();
  lci::barrier();
  if (lci::get_rank_me() == 0) {
    expect(status_of_child([&] { return try_all(second, counter, sync, mr, rcomp); }) == 0, "each call is refused");
    expect(status_of_child([] { return 0; }, true) == 0, "a child may call exit()");
    expect(status_of_child([] { return execl("/bin/true", "true", nullptr); }) == 0, "a child may call exec()");
    expect(status_of_child([&] {
             // Also in a grandchild.
             return status_of_child([&] { return try_all(second, counter, sync, mr, rcomp); });
           }) == 0,
           "each call is refused in a grandchild");
    expect(talk_as_own_processes() == 0, "children that start anew connect with each other");
  }
  // Communication still works.
  char out[8] = "hello", in[8] = {};
  for (int i = 0; i < 100; ++i) {
    if (lci::get_rank_me() == 0) {
      lci::post_send(other, out, 8, 7, lci::COMP_NULL);
      lci::post_recv(other, in, 8, 7, lci::COMP_NULL);
    } else {
      lci::post_recv(other, in, 8, 7, lci::COMP_NULL);
      lci::post_send(other, out, 8, 7, lci::COMP_NULL);
    }
  }
  expect(std::string(in) == "hello", "messages still arrive");
  lci::post_am(other, out, 8, lci::COMP_NULL, rcomp);
  expect(lci::counter_wait_for(counter, 1, 30), "active messages still arrive");
  lci::barrier();
  lci::free_device(&second);
  lci::deregister_memory(&mr);
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&counter);
  lci::free_comp(&sync);
  lci::g_runtime_fina();
  if (other == 1) std::printf("cases: %d passed, %d failed, 0 skipped\n", right, wrong);
  return wrong == 0 ? 0 : 1;
}
