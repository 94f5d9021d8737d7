#include "report.hpp"

#include <cstdio>
#include <string>

namespace kmer_count {
namespace {

template <class... Values>
std::string text(const char* format, Values... values) {
  char line[256];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

// 12345678 -> "12.3 M"
std::string rounded(double n, const char* unit, double base = 1000) {
  const char* const prefixes[] = {"", "k", "M", "G", "T"};
  size_t i = 0;
  for (; n >= base && i < 4; ++i) n /= base;
  const char* infix = base == 1024 && i > 0 ? "i" : "";
  return text(i == 0 ? "%.0f %s%s%s" : "%.2f %s%s%s", n, prefixes[i], infix, unit);
}

std::string bytes(uint64_t n) { return rounded(static_cast<double>(n), "B", 1024); }
std::string amount(uint64_t n) { return n < 10000 ? std::to_string(n) : rounded(static_cast<double>(n), ""); }

const char* plural(size_t n) { return n == 1 ? "" : "s"; }

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

}  // namespace

void print_start(std::ostream& out, const program_options& o, const exchange& net, const input_set& input) {
  const auto nranks = static_cast<size_t>(net.nranks());
  out << "kmer_count: " << nranks << " rank" << plural(nranks) << " x " << o.threads << " thread" << plural(o.threads)
      << ", " << (o.dedicated_devices ? "a device a thread" : "one device") << ", received by "
      << (o.comp == delivery::handler ? "handler in place" : "a completion queue a thread") << ", batches of "
      << net.batch_capacity() << " k-mers (" << net.batch_capacity() * sizeof(kmer) << " B)\n";
  out << "input: " << input.files().size() << " file" << plural(input.files().size()) << ", " << bytes(input.bytes())
      << ", about " << amount(input.expected_kmers()) << " k-mers, k = " << o.k
      << (o.canonical ? ", canonical" : ", forward only") << "\n";
}

void print_result(std::ostream& out, const program_options& o, const exchange& net, const job_result& r,
                  double total_seconds) {
  const tally& c = r.total.counters;
  const char* const names[] = {"filter", "count"};
  for (size_t t = 0; t < r.ntraversals; ++t) {
    const char* name = o.filter ? names[t] : "count";
    out << text("traversal %zu (%s): %.3f s, %s/s, %.0f %% of them by message\n", t + 1, name, r.traversal_seconds[t],
                rounded(ratio(static_cast<double>(c.found[t]), r.traversal_seconds[t]), " k-mers").c_str(),
                100 * ratio(static_cast<double>(c.by_message[t]), static_cast<double>(c.processed[t])));
  }
  double busy = 0;
  for (double s : c.seconds) busy += s;
  out << "where the time went:";
  for (size_t i = 0; i < nactivities; ++i) {
    out << text("%s %s %.3f s (%.0f %%)", i == 0 ? "" : ",", activity_names[i], c.seconds[i],
                100 * ratio(c.seconds[i], busy));
  }
  out << ", of all threads together\n";
  double wall = 0;
  for (size_t t = 0; t < r.ntraversals; ++t) wall += r.traversal_seconds[t];
  out << "messages: " << c.messages << ", " << bytes(c.message_bytes) << " ("
      << bytes(static_cast<uint64_t>(ratio(static_cast<double>(c.message_bytes), wall))) << "/s, "
      << text("%.0f %% full", 100 * ratio(static_cast<double>(c.message_bytes),
                                          static_cast<double>(c.messages * net.batch_capacity() * sizeof(kmer))))
      << "), " << c.retries << " posts tried again, " << c.progress_calls << " calls of progress\n";
  out << "memory: ";
  if (o.filter) out << "filter " << bytes(r.total.filter_bytes) << ", ";
  out << "table " << bytes(r.total.table_bytes) << " with " << amount(r.total.table_entries) << " k-mers";
  if (o.filter) {
    const uint64_t repeated = r.counts.distinct() - r.counts.at(1);
    out << " (" << amount(r.total.table_entries - repeated) << " by mistake of the filter)";
  }
  out << "\n";
  out << "total: " << c.records << " reads, " << c.found[0] << " k-mers, " << r.counts.distinct() << " different, "
      << r.counts.at(1) << " once; " << text("%.3f s", total_seconds) << "\n";
}

}  // namespace kmer_count
