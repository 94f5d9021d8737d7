// io_peers [MEGABYTES]: measures the bandwidth of puts and gets of 1 MiB between two processes that no launcher has
// started. MEGABYTES is the size of the registered target memory; the default, 4, fits in the processor's caches.
// Prints two numbers in GB/s. Uses TCP if LCI_ATTR_BACKEND=tcp, else shared memory.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <string>
#include <vector>

namespace {

constexpr size_t size = size_t{1} << 20;
constexpr int window = 4, count = 512;
int blocks = window;  // of the peer's memory

lci::runtime_t start_runtime() {
  lci::global_attr_t attr = lci::get_g_default_attr();
  attr.bootstrap = "none";
  if (attr.backend == lci::attr_backend_t::tcp) attr.peer_listen = "tcp://127.0.0.1:0";
  lci::set_g_default_attr(attr);
  return lci::g_runtime_init();
}

/// Sends the memory's key to the peer, and makes progress until the peer disconnects.
void lend(const std::string& address) {
  start_runtime();
  const int peer = lci::connect(address).rank;
  std::vector<char> memory(static_cast<size_t>(blocks) * size, 1);
  lci::mr_t region = lci::register_memory(memory.data(), memory.size());
  const lci::rmr_t remote = lci::get_rmr(region);
  lci::comp_t over = lci::alloc_sync();
  (void)lci::register_rcomp(over);
  lci::post_am(peer, &remote, sizeof remote, lci::COMP_NULL, 1);
  lci::status_t s;
  lci::sync_wait(over, &s);
  std::free(s.buffer);
  lci::deregister_memory(&region);
  lci::free_comp(&over);
  lci::disconnect(peer);
  lci::g_runtime_fina();
}

double measure(lci::direction_t direction, int peer, const lci::rmr_t& remote) {
  std::vector<char> memory(window * size, 2);
  lci::comp_t ends = lci::alloc_counter();
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const int64_t before = lci::counter_get(ends);
    for (int i = 0; i < count; ++i) {
      lci::counter_wait_for(ends, before + i - window + 1, 60);
      const size_t at = static_cast<size_t>(i % window) * size;
      (void)lci::post_comm_x(direction, peer, memory.data() + at, size, ends)
          .remote_disp(at)
          .rmr(remote)
          .allow_done(false)
          .allow_retry(false)();
    }
    lci::counter_wait_for(ends, before + count, 60);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(count) * size / time.count() / 1e9);
  }
  lci::free_comp(&ends);
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) blocks = std::atoi(argv[1]);
  if (blocks < window) return 1;
  int channel[2];
  if (pipe(channel) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    char text[256] = {};
    if (read(channel[0], text, sizeof text - 1) <= 0) _exit(1);
    lend(text);
    _exit(0);
  }
  start_runtime();
  lci::comp_t arrived = lci::alloc_cq();
  (void)lci::register_rcomp(arrived);
  const std::string address = lci::get_address();
  if (write(channel[1], address.data(), address.size()) < 0) return 1;
  lci::status_t s = lci::cq_wait_for(arrived, 60);
  lci::rmr_t remote;
  if (!s.is_done() || s.size != sizeof remote) return 1;
  std::memcpy(&remote, s.buffer, sizeof remote);
  std::free(s.buffer);
  const double put = measure(lci::direction_t::OUT, s.rank, remote),
               get = measure(lci::direction_t::IN, s.rank, remote);
  std::printf("%.2f %.2f\n", put, get);
  lci::post_am(s.rank, nullptr, 0, lci::COMP_NULL, 1);
  waitpid(child, nullptr, 0);
  lci::free_comp(&arrived);
  lci::g_runtime_fina();
  return 0;
}
