#include "bench/lci_perf/report.hpp"

#include <algorithm>
#include <cstdio>

namespace lci_perf {
namespace {

// Four significant digits, in full: tables get pasted into others.
std::string format(double v) {
  char text[64];
  const int decimals = v < 10 ? 3 : v < 100 ? 2 : v < 1000 ? 1 : 0;
  std::snprintf(text, sizeof(text), "%.*f", decimals, v);
  return text;
}

}  // namespace

const char* unit_of(metric_kind m) {
  switch (m) {
    case metric_kind::latency:
    case metric_kind::handoff:
    case metric_kind::atomic:
      return "ns";
    case metric_kind::rate:
    case metric_kind::ring64:
      return "msg/s";
    default:
      return "MB/s";
  }
}

double figure_of(metric_kind m, double seconds, double messages, size_t size) {
  switch (m) {
    case metric_kind::latency:
    case metric_kind::handoff:
      return seconds * 1e9 / messages / 2;
    case metric_kind::rate:
    case metric_kind::ring64:
      return messages / seconds;
    default:
      return messages * static_cast<double>(size) / seconds / 1e6;
  }
}

reporter::reporter(const options& o, int ranks, const std::vector<std::string>& notes)
    : options_(o), ranks_(ranks) {
  if (o.json) return;
  std::printf("# lci_perf %s %s\n", name_of(o.op), name_of(o.metric));
  for (const std::string& note : notes) std::printf("# %s\n", note.c_str());
  std::printf("%10s %6s %14s %14s %14s  %s\n", "bytes", "rounds", "median", "min", "max", "unit");
  std::fflush(stdout);
}

void reporter::add(size_t size, std::vector<double> figures) const {
  std::sort(figures.begin(), figures.end());
  const size_t n = figures.size();
  const double median = n % 2 == 1 ? figures[n / 2] : (figures[n / 2 - 1] + figures[n / 2]) / 2;
  const options& o = options_;
  const char* unit = unit_of(o.metric);
  if (o.json) {
    const bool floor = o.op == op_kind::floor;
    std::printf(
        "{\"op\": \"%s\", \"metric\": \"%s\", \"size\": %zu, \"threads\": %d, \"devices\": \"%s\", "
        "\"comp\": \"%s\", \"unit\": \"%s\", \"median\": %.10g, \"min\": %.10g, \"max\": %.10g, "
        "\"rounds\": %zu, \"ranks\": %d, \"window\": %d, \"zero_copy\": %s, \"bind\": \"%s\"}\n",
        name_of(o.op), name_of(o.metric), size, o.threads,
        floor         ? "none"
        : o.dedicated ? "dedicated"
                      : "shared",
        floor ? "none" : name_of(o.comp), unit, median, figures.front(), figures.back(), n, ranks_,
        o.window, o.zero_copy ? "true" : "false", name_of(o.bind));
  } else {
    std::printf("%10zu %6zu %14s %14s %14s  %s\n", size, n, format(median).c_str(),
                format(figures.front()).c_str(), format(figures.back()).c_str(), unit);
  }
  std::fflush(stdout);
}

}  // namespace lci_perf
