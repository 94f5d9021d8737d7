// lci_iod: an I/O server over LCI. See ../README.md.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <lci.hpp>
#include <string>

#include "options.hpp"
#include "server.hpp"

namespace {

io_server::server* running = nullptr;  // for the handler of signals

void stop(int) {
  if (running != nullptr) running->stop();
}

size_t power_of_two(size_t at_least) {
  size_t power = 1;
  while (power < at_least) power *= 2;
  return power;
}

/// Bytes of shared memory with room for a lane from each client, and for some that clients have left and that are not
/// free again. Each client maps them, which `ulimit -v` may limit.
size_t room_for(int clients, const lci::global_attr_t& attr) {
  constexpr size_t list_of_lanes = size_t{80} << 20, head_of_lane = 4096, cache_line = 64;
  const size_t lane =
      power_of_two(attr.shm_lane_slots) * cache_line + power_of_two(attr.shm_lane_data_size) + head_of_lane;
  const auto n = static_cast<size_t>(clients);
  return list_of_lanes + (n + n / 8 + 32) * lane;
}

void start_runtime(const io_server::server_options& o) {
  lci::global_attr_t attr = lci::get_g_default_attr();
  attr.bootstrap = "none";
  attr.max_peers = o.max_clients;
  attr.shm_segment_size = std::min(attr.shm_segment_size, room_for(o.max_clients, attr));
  for (const std::string& url : o.listen) attr.peer_listen += (attr.peer_listen.empty() ? "" : ",") + url;
  if (!o.auth.empty()) attr.peer_auth = o.auth;
  if (!o.key_file.empty()) attr.peer_key_file = o.key_file;
  lci::set_g_default_attr(attr);
  lci::g_runtime_init();
}

/// The clients' open files are descriptors of this process, and the soft limit is often 1024.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Writes the address atomically: a reader finds either no file or the whole address.
bool write_address(const std::string& path, const std::string& address) {
  const std::string draft = path + ".new";
  FILE* f = std::fopen(draft.c_str(), "we");
  if (f == nullptr) return false;
  const bool written = std::fprintf(f, "%s\n", address.c_str()) > 0;
  return std::fclose(f) == 0 && written && std::rename(draft.c_str(), path.c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const io_server::server_options o = io_server::parse_options(argc, argv);
  allow_many_files();
  umask(0);                  // clients apply their own umask
  signal(SIGXFSZ, SIG_IGN);  // a client's write beyond the limit of file sizes fails, as it does locally
  try {
    const io_server::root_folder root(o.root, o.walk);
    start_runtime(o);
    {
      io_server::server server(root, o);
      running = &server;
      struct sigaction action {};
      action.sa_handler = stop;
      sigaction(SIGTERM, &action, nullptr);
      sigaction(SIGINT, &action, nullptr);
      server.start();
      const std::string address = lci::get_address();
      std::puts(address.c_str());
      std::fflush(stdout);
      if (!o.address_file.empty() && !write_address(o.address_file, address)) {
        std::fprintf(stderr, "lci_iod: --address-file %s: %s\n", o.address_file.c_str(), std::strerror(errno));
        return 1;
      }
      server.run();
      running = nullptr;
    }
    lci::g_runtime_fina();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lci_iod: %s\n", e.what());
    return 1;
  }
  return 0;
}
