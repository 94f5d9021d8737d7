// Compares LCI v1.7's C interface with the core's own: each figure of both, in one process, in turn.
//
//   lcirun -n 2 v1_perf [--repeat 5] [--scale 1.0] [figure ...]
//
// Rank 0 prints a line for each figure: the medians of both, and their ratio. Rates and bandwidth: of v1 to the core's;
// latencies likewise, where less is better. Two ranks; rank 0 sends, rank 1 receives, but for latencies.
#include <lci.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <lci.hpp>
#include <string>
#include <vector>

#include "bench/v1/sides.hpp"

namespace {

struct figure {
  const char* name;
  const char* unit;
  double aim;
  bool less_is_better;
  std::function<double(double scale)> core, v1;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

size_t times(double scale, size_t n) {
  return std::max<size_t>(static_cast<size_t>(static_cast<double>(n) * scale), 16);
}

std::vector<figure> all_figures(sides& s) {
  std::vector<figure> f;
  f.push_back({"puts latency", "ns", 1.1, true, [&](double k) { return s.core_latency(times(k, 200000)); },
               [&](double k) { return s.v1_latency(times(k, 200000)); }});
  f.push_back({"puts rate", "M/s", 0.9, false, [&](double k) { return s.core_rate(times(k, 2000000), 8); },
               [&](double k) { return s.v1_puts_rate(times(k, 2000000)); }});
  f.push_back({"sends rate", "M/s", 0.85, false, [&](double k) { return s.core_send_rate(times(k, 400000), 8); },
               [&](double k) { return s.v1_sends_rate(times(k, 400000)); }});
  // A short message always has 32 bytes: beside the core's message of as many.
  f.push_back({"sends 32 rate", "M/s", 0.85, false,
               [&](double k) { return s.core_send_rate(times(k, 400000), LCI_SHORT_SIZE); },
               [&](double k) { return s.v1_sends_rate(times(k, 400000)); }});
  f.push_back({"sendm 8 rate", "M/s", 0.85, false, [&](double k) { return s.core_send_rate(times(k, 400000), 8); },
               [&](double k) { return s.v1_sendm_rate(times(k, 400000), 8); }});
  for (const size_t size : {size_t{64}, size_t{4096}})
    f.push_back({size == 64 ? "putma 64 rate" : "putma 4096 rate", "M/s", 0.9, false,
                 [&s, size](double k) { return s.core_queue_rate(times(k, 400000), size); },
                 [&s, size](double k) { return s.v1_putma_rate(times(k, 400000), size); }});
  struct long_figure {
    const char* name;
    double (sides::*core)(size_t, size_t);
    double (sides::*v1)(size_t, size_t);
    size_t size;
  };
  const long_figure longs[] = {
      {"sendl 64K", &sides::core_send_bandwidth, &sides::v1_sendl_bandwidth, 65536},
      {"sendl 1M", &sides::core_send_bandwidth, &sides::v1_sendl_bandwidth, 1048576},
      {"putl 64K", &sides::core_put_bandwidth, &sides::v1_putl_bandwidth, 65536},
      {"putl 1M", &sides::core_put_bandwidth, &sides::v1_putl_bandwidth, 1048576},
      {"putla 64K", &sides::core_am_bandwidth, &sides::v1_putla_bandwidth, 65536},
      {"putla 1M", &sides::core_am_bandwidth, &sides::v1_putla_bandwidth, 1048576},
  };
  for (const long_figure& l : longs) {
    const size_t n = l.size == 65536 ? 20000 : 2000;
    f.push_back({l.name, "GB/s", 0.95, false, [&s, l, n](double k) { return (s.*l.core)(times(k, n), l.size); },
                 [&s, l, n](double k) { return (s.*l.v1)(times(k, n), l.size); }});
  }
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  int repeat = 5;
  double scale = 1;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
      repeat = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--scale") == 0 && i + 1 < argc)
      scale = std::atof(argv[++i]);
    else
      wanted.emplace_back(argv[i]);
  }
  if (repeat < 1 || !(scale > 0)) {
    std::fprintf(stderr, "v1_perf: --repeat must be at least 1, --scale above 0\n");
    return 2;
  }
  sides both;
  if (!both.open()) return 1;
  if (LCI_NUM_PROCESSES != 2) {
    std::fprintf(stderr, "v1_perf: runs with 2 ranks: lcirun -n 2 v1_perf\n");
    return 2;
  }
  for (const figure& f : all_figures(both)) {
    if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), [&](const std::string& w) {
          return std::string(f.name).find(w) != std::string::npos;
        }))
      continue;
    std::vector<double> core, v1, ratio;
    f.core(scale / 10);  // warms up both
    f.v1(scale / 10);
    for (int i = 0; i < repeat; ++i) {
      core.push_back(f.core(scale));
      v1.push_back(f.v1(scale));
      ratio.push_back(v1.back() / core.back());
    }
    if (LCI_RANK == 0) {
      std::printf("%-16s core %9.3f %-4s  v1 %9.3f %-4s  ratio %.3f (aim: %s %.2f)\n", f.name, median(core), f.unit,
                  median(v1), f.unit, median(ratio), f.less_is_better ? "at most" : "at least", f.aim);
      std::fflush(stdout);
    }
  }
  both.close();
  return 0;
}
