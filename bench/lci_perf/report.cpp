#include "bench/lci_perf/report.hpp"

#include <cstdio>

#include "bench/lci_perf/spread.hpp"

namespace lci_perf {
namespace {

// Four significant digits, in full: tables get pasted into others.
std::string format(double v) {
  char text[64];
  const int decimals = v < 10 ? 3 : v < 100 ? 2 : v < 1000 ? 1 : 0;
  std::snprintf(text, sizeof(text), "%.*f", decimals, v);
  return text;
}

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> out;
  for (size_t i = 0; i < of.size(); ++i) out.push_back(of[i] / to[i]);
  return out;
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
    case metric_kind::queue:
    case metric_kind::matching:
    case metric_kind::packets:
      return "op/s";
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
    case metric_kind::queue:
    case metric_kind::matching:
    case metric_kind::packets:
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

void reporter::add(size_t size, std::vector<double> figures, std::vector<double> limits) const {
  const spread all(figures);
  const size_t n = figures.size();
  const options& o = options_;
  const char* unit = unit_of(o.metric);
  if (o.json) {
    const bool floor = o.op == op_kind::floor, told = !floor && o.op != op_kind::resource;
    std::printf(
        "{\"op\": \"%s\", \"metric\": \"%s\", \"size\": %zu, \"threads\": %d, \"devices\": \"%s\", "
        "\"comp\": \"%s\", \"unit\": \"%s\", \"median\": %.10g, \"min\": %.10g, \"max\": %.10g, "
        "\"rounds\": %zu, \"ranks\": %d, \"window\": %d, \"zero_copy\": %s, \"bind\": \"%s\"",
        name_of(o.op), name_of(o.metric), size, o.threads,
        floor         ? "none"
        : o.dedicated ? "dedicated"
                      : "shared",
        told ? name_of(o.comp) : "none", unit, all.median, all.min, all.max, n, ranks_,
        o.window, o.zero_copy ? "true" : "false", name_of(o.bind));
    if (!limits.empty()) {
      const spread limit(limits), ratio(ratios(figures, limits));
      std::printf(", \"limit\": %.10g, \"ratio\": %.10g, \"ratio_min\": %.10g, \"ratio_max\": %.10g",
                  limit.median, ratio.median, ratio.min, ratio.max);
    }
    std::printf("}\n");
  } else {
    std::printf("%10zu %6zu %14s %14s %14s  %s\n", size, n, format(all.median).c_str(),
                format(all.min).c_str(), format(all.max).c_str(), unit);
    if (!limits.empty()) {
      const spread limit(limits), ratio(ratios(figures, limits));
      std::printf("%10s %6zu %14s %14s %14s  %s\n%10s %6zu %14s %14s %14s\n", "handoff", n,
                  format(limit.median).c_str(), format(limit.min).c_str(), format(limit.max).c_str(),
                  unit, "ratio", n, format(ratio.median).c_str(), format(ratio.min).c_str(),
                  format(ratio.max).c_str());
    }
  }
  std::fflush(stdout);
}

}  // namespace lci_perf
