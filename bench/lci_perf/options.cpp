#include "bench/lci_perf/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>
#include <set>

namespace lci_perf {
namespace {

template <class T>
using names = std::map<std::string, T>;

const names<op_kind> op_names = {
    {"am", op_kind::am},         {"sendrecv", op_kind::sendrecv},   {"put", op_kind::put},
    {"get", op_kind::get},       {"atomic", op_kind::atomic},       {"putsignal", op_kind::putsignal},
    {"strided", op_kind::strided}, {"barrier", op_kind::barrier},   {"resource", op_kind::resource},
    {"floor", op_kind::floor}};
const names<metric_kind> metric_names = {
    {"latency", metric_kind::latency},     {"rate", metric_kind::rate},
    {"bandwidth", metric_kind::bandwidth}, {"handoff", metric_kind::handoff},
    {"ring64", metric_kind::ring64},       {"cma", metric_kind::cma},
    {"memcpy", metric_kind::memcpy},       {"atomic", metric_kind::atomic},
    {"strided", metric_kind::strided},     {"queue", metric_kind::queue},
    {"matching", metric_kind::matching},   {"packets", metric_kind::packets}};
const names<comp_kind> comp_names = {
    {"handler", comp_kind::handler}, {"cq", comp_kind::cq}, {"sync", comp_kind::sync}};
const names<bind_kind> bind_names = {
    {"pack", bind_kind::pack}, {"cross", bind_kind::cross}, {"none", bind_kind::none}};

template <class T>
const char* find_name(const names<T>& all, T value) {
  for (const auto& [name, v] : all) {
    if (v == value) return name.c_str();
  }
  return "?";
}

template <class T>
std::set<std::string> keys(const names<T>& all) {
  std::set<std::string> out;
  for (const auto& entry : all) out.insert(entry.first);
  return out;
}

op_kind only_op_of(metric_kind m) {  // am stands for all that is left
  if (m >= metric_kind::queue) return op_kind::resource;
  return m >= metric_kind::handoff ? op_kind::floor : op_kind::am;
}
bool is_stream_of_bytes(metric_kind m) {
  return m == metric_kind::bandwidth || m == metric_kind::cma || m == metric_kind::memcpy;
}

// Checks that concern more than one option. Returns what is wrong, or nothing.
std::string contradiction(const options& o) {
  const bool floor = o.op == op_kind::floor, resource = o.op == op_kind::resource;
  if (only_op_of(o.metric) != (floor || resource ? o.op : op_kind::am)) {
    return std::string(name_of(o.op)) + " can't measure " + name_of(o.metric) + "; it measures " +
           (floor      ? "handoff, ring64, cma, memcpy, atomic, strided"
            : resource ? "queue, matching, packets"
                       : "latency, rate, bandwidth");
  }
  const bool one_value = o.op == op_kind::atomic || o.op == op_kind::barrier || o.op == op_kind::strided;
  if (one_value && o.metric == metric_kind::bandwidth && o.op != op_kind::strided)
    return std::string(name_of(o.op)) + " has no bandwidth; it measures latency, rate";
  if (is_one_sided(o.op) && o.threads != 1)
    return "--threads: " + std::string(name_of(o.op)) + " is measured with 1";
  if ((one_value || resource) && !o.sizes.empty())
    return std::string("--size: ") + name_of(o.op) + " has one size only";
  if (o.with_handoff && o.metric != metric_kind::latency)
    return std::string("--with-handoff: ") + name_of(o.metric) + " is nothing to hold against it";
  if (o.window % 4 != 0) {
    return "--window: " + std::to_string(o.window) +
           " is not a multiple of 4 (messages are acknowledged a quarter of a window at a time)";
  }
  if ((o.slots & (o.slots - 1)) != 0) {
    return "--slots: " + std::to_string(o.slots) + " is not a power of two";
  }
  if (o.zero_copy && (o.op != op_kind::am || o.comp == comp_kind::handler)) {
    return "--zero-copy: needs `am` with --comp cq or --comp sync (handlers read messages in "
           "place anyway, receives name their own buffer)";
  }
  if (!o.sizes.empty() && (o.metric == metric_kind::handoff || o.metric == metric_kind::ring64 ||
                           o.metric == metric_kind::atomic || o.metric == metric_kind::strided)) {
    return std::string("--size: ") + name_of(o.metric) + " has messages of one size only";
  }
  for (const size_t size : o.sizes) {
    if (size == 0) return "--size: 0 is not at least 1";
    if (size > (size_t{1} << 30)) {
      return "--size: " + std::to_string(size) + " is more than 1073741824 (1 GiB)";
    }
  }
  return {};
}

std::vector<size_t> default_sizes(op_kind op, metric_kind m) {
  if (m == metric_kind::ring64) return {56};
  if (m == metric_kind::strided || op == op_kind::strided) return {block_bytes};
  if (!is_stream_of_bytes(m)) return {8};
  return {16, 256, 4096, 65536, 1048576};
}

}  // namespace

const char* name_of(op_kind v) { return find_name(op_names, v); }
const char* name_of(metric_kind v) { return find_name(metric_names, v); }
const char* name_of(comp_kind v) { return find_name(comp_names, v); }
const char* name_of(bind_kind v) { return find_name(bind_names, v); }

options parse(int argc, char** argv) {
  options o;
  std::string op, metric, comp = "handler", bind = "pack", devices = "shared";
  bool no_bind = false;
  CLI::App app(
      "Measures LCI on two ranks (lcirun -n 2 lci_perf am latency), or on one rank between its own "
      "threads.\n`lci_perf floor METRIC` measures, without LCI and without a launcher, the limits "
      "of the machine that the other figures can be held against.",
      "lci_perf");
  app.add_option("OP", op, "what to measure")->required()->check(CLI::IsMember(keys(op_names)));
  app.add_option("METRIC", metric,
                 "am, sendrecv: latency (one way), rate (one-way stream), bandwidth\n"
                 "put, get, atomic, barrier: latency (of one, complete), rate; put, get: bandwidth\n"
                 "putsignal: latency (one way), rate, bandwidth\n"
                 "strided (a put of 512 x 512 doubles out of and into 1024 x 1024): latency, rate, "
                 "bandwidth\n"
                 "floor: handoff (a cache line's way to the other core), ring64 (a plain ring of "
                 "64-byte slots), cma (process_vm_readv), memcpy, atomic (fetch-and-add), "
                 "strided (the same block by memcpy)\n"
                 "resource (one of them, used by --threads threads of one process): queue (pushes and "
                 "pops a completion), matching (files a value and takes it out), packets (takes one and "
                 "gives it back)")
      ->required()
      ->check(CLI::IsMember(keys(metric_names)));
  app.add_option("--size", o.sizes, "bytes a message: N[,N...]")->delimiter(',');
  app.add_option("--threads", o.threads, "pairs of threads that talk at the same time; resource: threads")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--devices", devices, "shared: all threads use one device; dedicated: a pair each")
      ->check(CLI::IsMember(std::set<std::string>{"shared", "dedicated"}))
      ->capture_default_str();
  app.add_option("--comp", comp, "how arrivals are told: completion handler, queue, synchronizer")
      ->check(CLI::IsMember(keys(comp_names)))
      ->capture_default_str();
  app.add_flag("--zero-copy", o.zero_copy,
               "cq and sync: take active messages as packets instead of malloc'ed copies");
  app.add_option("--window", o.window, "rate, bandwidth: messages in flight for each pair")
      ->check(CLI::Range(4, 65536))
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "measured rounds; the median is printed")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--iterations", o.iterations,
                 "messages a round and pair (default: as many as fit into --seconds)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  app.add_option("--seconds", o.seconds, "length of a round without --iterations")
      ->check(CLI::Range(0.0001, 60.0))
      ->capture_default_str();
  app.add_option("--slots", o.slots, "floor ring64: slots of the ring")
      ->check(CLI::Range(size_t{2}, size_t{1} << 20))
      ->capture_default_str();
  app.add_flag("--with-handoff", o.with_handoff,
               "latency of 2 ranks: before each round, the same processes measure a plain hand-off of "
               "a cache line; the ratio of the two is shown as well");
  app.add_option("--bind", bind,
                 "pack: rank r's thread t of T on core (r*T+t) mod cores; cross: on core (r+t) mod "
                 "cores, so that partners never share one; none: as the launcher says")
      ->check(CLI::IsMember(keys(bind_names)))
      ->capture_default_str();
  app.add_flag("--no-bind", no_bind, "same as --bind none");
  app.add_flag("--json", o.json, "one JSON object a line instead of a table");
  try {
    app.parse(argc, argv);
    o.op = op_names.at(op);
    o.metric = metric_names.at(metric);
    o.comp = comp_names.at(comp);
    o.bind = no_bind ? bind_kind::none : bind_names.at(bind);
    o.dedicated = devices == "dedicated";
    const std::string wrong = contradiction(o);
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
    if (o.sizes.empty()) o.sizes = default_sizes(o.op, o.metric);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    std::exit(code == 0 ? 0 : 2);
  }
  return o;
}

}  // namespace lci_perf
