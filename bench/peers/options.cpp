#include "bench/peers/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

namespace peers {
namespace {

template <class T>
std::set<std::string> keys(const std::map<std::string, T>& all) {
  std::set<std::string> out;
  for (const auto& entry : all) out.insert(entry.first);
  return out;
}

// Checks combinations of options. Returns what is wrong, or an empty text.
std::string contradiction(const options& o) {
  const std::string op = lci_perf::name_of(o.op);
  if (o.op == op_kind::atomic && o.metric == metric_kind::bandwidth)
    return op + " has no bandwidth; it measures latency, rate";
  if (o.op == op_kind::strided && o.metric != metric_kind::bandwidth) return op + " measures bandwidth";
  if ((o.op == op_kind::atomic || o.op == op_kind::strided) && !o.sizes.empty())
    return "--size: " + op + " has one size only";
  if (is_one_sided(o.op) && (o.threads != 1 || o.ranks != 2))
    return op + " is measured with one thread of each of two processes";
  if (o.window % 4 != 0) return "--window: " + std::to_string(o.window) + " is not a multiple of 4";
  for (const size_t size : o.sizes)
    if (size < 8) return "--size: " + std::to_string(size) + " is less than the 8 bytes of a message's number";
  return "";
}

std::vector<size_t> default_sizes(const options& o) {
  if (o.op == op_kind::strided) return {lci_perf::block_bytes};
  if (o.metric != metric_kind::bandwidth) return {8};
  return {256, 4096, 65536, 1048576};
}

}  // namespace

bool asks_for_start(int argc, char** argv) { return argc == 2 && std::strcmp(argv[1], "start") == 0; }

options parse(int argc, char** argv, const program& who) {
  options o;
  std::map<std::string, op_kind> ops;
  for (const op_kind op : who.ops) ops[lci_perf::name_of(op)] = op;
  const std::map<std::string, metric_kind> metrics = {
      {"latency", metric_kind::latency}, {"rate", metric_kind::rate}, {"bandwidth", metric_kind::bandwidth}};
  const std::map<std::string, lci_perf::bind_kind> binds = {
      {"pack", lci_perf::bind_kind::pack}, {"cross", lci_perf::bind_kind::cross}, {"none", lci_perf::bind_kind::none}};
  std::string op, metric, bind = "pack";
  bool dedicated = false, shared = false;
  CLI::App app(std::string("Measures on ") + who.name +
                   " what lci_perf measures on LCI, in the same way.\n\n"
                   "Started by: " +
                   who.start +
                   "\n`start` alone, without any option, prints what it takes to "
                   "start: milliseconds from START_TIME_NS (CLOCK_MONOTONIC) to main(), to the end of the "
                   "library's start, to the first message; and resident memory in kB.",
               std::string("peer_") + who.name);
  app.add_option("OP", op, "what to measure")->required()->check(CLI::IsMember(keys(ops)));
  app.add_option("METRIC", metric,
                 "latency (of one complete operation; of messages and putsignal: one way), rate, "
                 "bandwidth")
      ->required()
      ->check(CLI::IsMember(keys(metrics)));
  app.add_option("--size", o.sizes, "bytes a message: N[,N...]")->delimiter(',');
  app.add_option("--threads", o.threads, "pairs of threads that communicate concurrently")->check(CLI::Range(1, 64));
  auto* const one_each = app.add_flag("--dedicated", dedicated, "a worker, endpoint or communicator for each pair");
  app.add_flag("--shared", shared, "one for all (the default)")->excludes(one_each);
  app.add_option("--window", o.window, "rate, bandwidth: messages in flight for each pair")
      ->check(CLI::Range(4, 65536))
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "measured rounds")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--iterations", o.iterations, "messages a round and pair (default: what fits into --seconds)");
  app.add_option("--seconds", o.seconds, "length of a round")->check(CLI::Range(0.0001, 60.0))->capture_default_str();
  app.add_option("--bind", bind, "as lci_perf's: pack, cross, none")->check(CLI::IsMember(keys(binds)));
  if (who.forks)
    app.add_option("--ranks", o.ranks, "processes; with one, pairs of its threads communicate")
        ->check(CLI::Range(1, 2))
        ->capture_default_str();
  app.add_flag("--thread-safe", o.thread_safe, "initialize the library for several threads, although one calls it");
  if (std::string(who.name) == "libfabric")
    app.add_option("--provider", o.provider, "shm, tcp;ofi_rxm ...")->required();
  if (std::string(who.name).find("mpi") != std::string::npos)
    app.add_flag("--yield", o.yield, "test and yield the core instead of waiting inside of MPI");
  app.add_flag("--json", o.json, "a JSON object a line");
  try {
    app.parse(argc, argv);
    o.op = ops.at(op);
    o.metric = metrics.at(metric);
    o.bind = binds.at(bind);
    o.dedicated = dedicated;
    const std::string wrong = contradiction(o);
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
    if (o.sizes.empty()) o.sizes = default_sizes(o);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    std::exit(code == 0 ? 0 : 2);
  }
  return o;
}

}  // namespace peers
