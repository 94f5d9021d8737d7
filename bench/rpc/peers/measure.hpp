// The clock and the statistics of bench/rpc/calls.cpp, for programs that do not use LCI.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

constexpr int window = 64;

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Round trip in ns: the median over groups of calls.
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
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

inline void print(const char* what, double ns, double rate) {
  std::printf("{\"what\": \"%s\", \"bytes64_ns\": %.0f, \"bytes64_rate\": %.0f}\n", what, ns, rate);
}

/// Passes a port from the server's process to the client's.
inline void send_port(int to, unsigned port) {
  if (write(to, &port, sizeof port) != sizeof port) _exit(1);
}
inline unsigned receive_port(int from) {
  unsigned port = 0;
  if (read(from, &port, sizeof port) != sizeof port) _exit(1);
  return port;
}

}  // namespace bench
