#include "bench/lci_perf/report.hpp"

#include <cstdio>

#include "bench/lci_perf/spread.hpp"

namespace lci_perf {
namespace {

// Four significant digits, without an exponent: tables are pasted into others.
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

const char* unit_of(const options& o) {
  if (o.op == op_kind::resource) return "op/s";
  switch (o.metric) {
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

reporter::reporter(const options& o, int ranks, const std::vector<std::string>& notes) : options_(o), ranks_(ranks) {
  if (o.json || o.csv) return;
  std::printf("# lci_perf %s %s\n", name_of(o.op), name_of(o.metric));
  for (const std::string& note : notes) std::printf("# %s\n", note.c_str());
  std::printf("%10s %6s %14s %14s %14s  %s\n", "bytes", "rounds", "median", "min", "max", "unit");
  std::fflush(stdout);
}

std::vector<reporter::field> reporter::fields_of(const result& r) const {
  const options& o = options_;
  std::vector<field> out;
  const auto text = [&](const char* name, const char* value) { out.push_back({name, value, true}); };
  const auto number = [&](const char* name, double value) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.10g", value);
    out.push_back({name, digits, false});
  };
  const auto whole = [&](const char* name, size_t value) { out.push_back({name, std::to_string(value), false}); };
  const spread all(r.figures);
  const bool lci = o.op != op_kind::floor && o.op != op_kind::resource;
  text("op", name_of(o.op));
  text("metric", name_of(o.metric));
  whole("size", r.size);
  whole("threads", static_cast<size_t>(o.threads));
  text("devices", !lci ? "none" : o.dedicated ? "dedicated" : "shared");
  text("comp", lci ? name_of(o.comp) : "none");
  text("unit", unit_of(o));
  number("median", all.median);
  number("min", all.min);
  number("max", all.max);
  whole("rounds", r.figures.size());
  whole("ranks", static_cast<size_t>(ranks_));
  text("mode", o.processes ? "processes" : "threads");
  whole("window", static_cast<size_t>(o.window));
  out.push_back({"zero_copy", o.zero_copy ? "true" : "false", false});
  text("bind", name_of(o.bind));
  if (!r.limits.empty()) {
    const spread limit(r.limits), ratio(ratios(r.figures, r.limits));
    number("limit", limit.median);
    number("ratio", ratio.median);
    number("ratio_min", ratio.min);
    number("ratio_max", ratio.max);
  }
  for (const quantile& q : r.quantiles) number(q.name, q.value);
  return out;
}

void reporter::add_row(const result& r) const {
  const char* unit = unit_of(options_);
  const auto row = [](const std::string& head, const std::vector<double>& of, const char* in) {
    const spread s(of);
    std::printf("%10s %6zu %14s %14s %14s  %s\n", head.c_str(), of.size(), format(s.median).c_str(),
                format(s.min).c_str(), format(s.max).c_str(), in);
  };
  row(std::to_string(r.size), r.figures, unit);
  if (!r.limits.empty()) {
    row("handoff", r.limits, unit);
    row("ratio", ratios(r.figures, r.limits), "");
  }
  for (const quantile& q : r.quantiles)
    std::printf("%10s %6s %14s %14s %14s  %s\n", q.name, "", format(q.value).c_str(), "", "", unit);
}

void reporter::add(const result& r) {
  if (!options_.json && !options_.csv) {
    add_row(r);
  } else {
    const std::vector<field> fields = fields_of(r);
    std::string names, values;
    for (const field& f : fields) {
      const char* comma = names.empty() ? "" : options_.json ? ", " : ",";
      const std::string quoted = f.is_text ? '"' + f.value + '"' : f.value;
      names += comma + f.name;
      values += comma + (options_.json ? '"' + f.name + "\": " + quoted : f.value);
    }
    if (options_.csv && !has_head_) std::printf("%s\n", names.c_str());
    has_head_ = true;
    std::printf(options_.json ? "{%s}\n" : "%s\n", values.c_str());
  }
  std::fflush(stdout);
}

}  // namespace lci_perf
