// Measures calls of lci/rpc.hpp between two processes: round trip, and rate with 64 outstanding calls, without
// arguments and with a struct of 64 bytes in both directions. For comparison, an exchange of 64 bytes over a TCP
// socket.
//
//   rpc_calls [URL] [SECONDS]
//
// URL is the argument of rpc::engine in both processes, "shm://" by default. Prints one line of JSON.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "lci/rpc.hpp"

namespace {

namespace rpc = lci::rpc;
constexpr size_t window = 64;

struct bytes64 {
  char data[64];
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Round trip in ns. Times groups of calls, since reading the clock takes a noticeable part of a call's time; returns
/// the median.
template <class Call>
double round_trip(double seconds, Call call) {
  constexpr int group = 64;
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) call();
  for (const double end = now() + seconds; now() < end;) {
    const double begin = now();
    for (int i = 0; i < group; ++i) call();
    times.push_back((now() - begin) / group * 1e9);
  }
  return median(times);
}

/// Calls per second.
template <class Post>
double rate(double seconds, Post post) {
  std::deque<decltype(post())> outstanding;
  uint64_t n = 0;
  const double begin = now();
  while (now() < begin + seconds)
    for (size_t i = 0; i < window; ++i, ++n) {
      if (outstanding.size() == window) {
        outstanding.front().get();
        outstanding.pop_front();
      }
      outstanding.push_back(post());
    }
  for (auto& f : outstanding) f.get();
  return static_cast<double>(n) / (now() - begin);
}

int serve(const std::string& url, FILE* to) {
  const rpc::engine e(url);
  e.define("null", [] {});
  e.define("echo", [](const bytes64& b) { return b; });
  e.define("end", [&e] { e.stop(); });
  std::fprintf(to, "%s\n", e.url().c_str());
  std::fclose(to);
  e.run();
  return 0;
}

/// Exchanges 64 bytes with a child process over a socket. Both poll, as engines do.
double bare_socket(double seconds) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof at;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), n) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&at), &n) != 0)
    return 0;
  const auto exchange = [](int s, bool first) {
    char b[64] = {};
    if (first && send(s, b, sizeof b, 0) != sizeof b) return false;
    for (size_t got = 0; got < sizeof b;) {
      const ssize_t k = recv(s, b, sizeof b - got, MSG_DONTWAIT);
      if (k == 0 || (k < 0 && errno != EAGAIN)) return false;
      if (k > 0) got += static_cast<size_t>(k);
    }
    return first || send(s, b, sizeof b, 0) == sizeof b;
  };
  const int on = 1;
  const pid_t child = fork();
  if (child == 0) {
    const int s = accept(listener, nullptr, nullptr);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (exchange(s, false)) {
    }
    _exit(0);
  }
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(s, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return 0;
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const double result = round_trip(seconds, [&] { exchange(s, true); });
  close(s);
  close(listener);
  waitpid(child, nullptr, 0);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "shm://";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  const double socket_ns = bare_socket(seconds / 2);
  int out[2];
  if (pipe(out) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    close(out[0]);
    _exit(serve(url, fdopen(out[1], "w")));
  }
  close(out[1]);
  char name[300] = "";
  FILE* const from = fdopen(out[0], "r");
  if (std::fgets(name, sizeof name, from) == nullptr) return 1;
  std::fclose(from);

  const rpc::engine e(url, rpc::options().client());
  const rpc::peer server = e.connect(name);
  const auto null = e.declare<void()>("null");
  const auto echo = e.declare<bytes64(bytes64)>("echo");
  const auto null_there = null.on(server);
  const auto echo_there = echo.on(server);
  const bytes64 b{};
  const double null_ns = round_trip(seconds, [&] { null_there(); });
  const double echo_ns = round_trip(seconds, [&] { echo_there(b); });
  const double null_rate = rate(seconds, [&] { return null.call_x(server)(); });
  const double echo_rate = rate(seconds, [&] { return echo.call_x(server, b)(); });
  std::printf(
      "{\"url\": \"%s\", \"null_ns\": %.0f, \"null_rate\": %.0f, \"bytes64_ns\": %.0f, \"bytes64_rate\": %.0f, "
      "\"socket_ns\": %.0f}\n",
      url.c_str(), null_ns, null_rate, echo_ns, echo_rate, socket_ns);
  e.declare<void()>("end").on(server)();
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
