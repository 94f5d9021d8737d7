// Measures a server of lci/rpc.hpp with many clients, each a process: the call rate of 10 active clients, without and
// with 190 idle connected clients; the processor time of an idle server; the server's memory per client.
//
//   rpc_clients [URL] [SECONDS]
//
// URL is the argument of rpc::engine in all processes, "shm://" by default. Prints one line of JSON.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "lci/rpc.hpp"

namespace {

namespace rpc = lci::rpc;
constexpr int n_active = 10, n_idle = 190;

/// State in memory that all processes have mapped.
struct board {
  std::atomic<int> connected, ended;
  std::atomic<bool> go;  // the active clients call
  std::atomic<uint64_t> calls;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void serve(const std::string& url, FILE* to) {
  const rpc::engine e(url);
  e.define("null", [] {});
  e.define("end", [&e] { e.stop(); });
  std::fprintf(to, "%s\n", e.url().c_str());
  std::fclose(to);
  e.run();
  _exit(0);
}

[[noreturn]] void call_while_told(const std::string& url, const std::string& name, board& b) {
  const rpc::engine e(url, rpc::options().client());
  const rpc::peer server = e.connect(name);
  const auto null = e.declare<void()>("null").on(server);
  null();
  b.connected.fetch_add(1);
  while (!b.go.load()) usleep(1000);
  uint64_t n = 0;
  for (; b.go.load(std::memory_order_relaxed); ++n) null();
  b.calls.fetch_add(n);
  b.ended.fetch_add(1);
  pause();  // the parent ends this client outside of measurements
  _exit(0);
}

[[noreturn]] void do_nothing(const std::string& url, const std::string& name, board& b) {
  const rpc::engine e(url, rpc::options().client());
  const rpc::peer server = e.connect(name);
  e.declare<void()>("null").on(server)();
  b.connected.fetch_add(1);
  pause();
  _exit(0);
}

/// Starts active clients, ends them, and returns their total number of calls per second.
double rate_of_active(const std::string& url, const std::string& name, board& b, double seconds) {
  const int before = b.connected.load();
  std::vector<pid_t> active;
  for (int i = 0; i < n_active; ++i)
    if (const pid_t p = fork(); p == 0)
      call_while_told(url, name, b);
    else
      active.push_back(p);
  while (b.connected.load() < before + n_active) usleep(1000);
  b.calls = 0;
  b.ended = 0;
  const double begin = now();
  b.go = true;
  usleep(static_cast<useconds_t>(seconds * 1e6));
  b.go = false;
  const double took = now() - begin;
  while (b.ended.load() < n_active) usleep(1000);
  for (const pid_t p : active) kill(p, SIGKILL);
  for (const pid_t p : active) waitpid(p, nullptr, 0);
  b.connected.fetch_sub(n_active);
  usleep(200000);  // the server detects within this time that they have ended
  return static_cast<double>(b.calls.load()) / took;
}

/// Seconds of processor time that the process has used.
double used_by(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  text = text.substr(text.rfind(')') + 2);
  for (int i = 0; i < 11; ++i) text = text.substr(text.find(' ') + 1);
  char* end = nullptr;
  const double user = std::strtod(text.c_str(), &end), system = std::strtod(end, nullptr);
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Resident memory in KiB. Counts shared memory in full.
double resident(pid_t process) {
  std::ifstream statm("/proc/" + std::to_string(process) + "/statm");
  double size = 0, pages = 0;
  statm >> size >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "shm://";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  void* const memory = mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  board& b = *new (memory) board{};
  int out[2];
  if (pipe(out) != 0) return 1;
  const pid_t process = fork();
  if (process == 0) {
    close(out[0]);
    serve(url, fdopen(out[1], "w"));
  }
  close(out[1]);
  char line[300] = "";
  if (std::fgets(line, sizeof line, fdopen(out[0], "r")) == nullptr) return 1;
  std::string name(line);
  name.pop_back();  // the end of the line

  const double warm = rate_of_active(url, name, b, seconds / 4);
  const double alone = rate_of_active(url, name, b, seconds);
  const double before = resident(process);
  std::vector<pid_t> idle;
  for (int i = 0; i < n_idle; ++i) {
    if (const pid_t p = fork(); p == 0)
      do_nothing(url, name, b);
    else
      idle.push_back(p);
    while (b.connected.load() <= i) usleep(200);
  }
  const double each = (resident(process) - before) / n_idle;
  const double used = used_by(process), begin = now();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  const double cost = (used_by(process) - used) / (now() - begin) * 100;
  const double beside = rate_of_active(url, name, b, seconds);
  std::printf(
      "{\"url\": \"%s\", \"rate_10\": %.0f, \"rate_10_of_200\": %.0f, \"ratio\": %.3f, \"idle_percent\": %.2f, "
      "\"kib_each\": %.1f, \"first_rate\": %.0f}\n",
      url.c_str(), alone, beside, beside / alone, cost, each, warm);
  for (const pid_t p : idle) kill(p, SIGKILL);
  for (const pid_t p : idle) waitpid(p, nullptr, 0);
  kill(process, SIGTERM);
  waitpid(process, nullptr, 0);
  return 0;
}
