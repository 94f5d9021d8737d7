#include "bench/lci_perf/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>
#include <set>

namespace lci_perf {
namespace {

template <class T>
using names = std::map<std::string, T>;

constexpr char what_is_measured[] =
    R"(OP and its METRICs:
  am, orderedam, sendrecv, putsignal, getsignal
      latency        one way: half of a round trip
      rate           messages a second, one way
      bandwidth      the same in bytes
      bidirectional  streams both ways at once, added up
    --comp notifies the other rank. orderedam: active messages in a stream, in order.
    putsignal, getsignal: put into and get from its memory, with a notification.
  put, get, strided, stridedget
      latency        of one that is complete before the next begins
      rate, bandwidth, bidirectional: with up to --window of them under way
    strided, stridedget: 512 x 512 doubles out of and into 1024 x 1024.
  atomic, swap, cas
      latency, rate  as above. atomic: fetch-and-add; cas: compare-and-swap; of 64 bits
  barrier, allreduce
      latency, rate  one after the other, of any number of ranks; allreduce: a sum of doubles
  floor              what the machine does without LCI, between two processes that it makes itself
      handoff        a cache line to the other core, one way
      ring64         a plain ring of 64-byte slots
      cma, memcpy    process_vm_readv; within one process
      atomic         an uncontended fetch-and-add
      strided        the strided block by memcpy
  resource           what --threads threads of one rank do with one object: operations a second of all
      cq             a push and a pop of a completion queue
      matching       a receive and its send, into a matching engine
      packet         a packet taken from the pool and given back
      registration   of memory (--size), and its end; --reg-cache
      atomic, ownatomic    without LCI: fetch-and-add of one word, of a word each
      lockedqueue, malloc  without LCI: std::deque and std::mutex, push and pop; malloc and free)";

const names<op_kind> op_names = {{"am", op_kind::am},
                                 {"orderedam", op_kind::orderedam},
                                 {"putsignal", op_kind::putsignal},
                                 {"getsignal", op_kind::getsignal},
                                 {"sendrecv", op_kind::sendrecv},
                                 {"put", op_kind::put},
                                 {"get", op_kind::get},
                                 {"atomic", op_kind::atomic},
                                 {"swap", op_kind::swap},
                                 {"cas", op_kind::cas},
                                 {"strided", op_kind::strided},
                                 {"stridedget", op_kind::stridedget},
                                 {"barrier", op_kind::barrier},
                                 {"allreduce", op_kind::allreduce},
                                 {"floor", op_kind::floor},
                                 {"resource", op_kind::resource}};
const names<metric_kind> metric_names = {{"latency", metric_kind::latency},
                                         {"rate", metric_kind::rate},
                                         {"bandwidth", metric_kind::bandwidth},
                                         {"bidirectional", metric_kind::bidirectional},
                                         {"handoff", metric_kind::handoff},
                                         {"ring64", metric_kind::ring64},
                                         {"cma", metric_kind::cma},
                                         {"memcpy", metric_kind::memcpy},
                                         {"atomic", metric_kind::atomic},
                                         {"strided", metric_kind::strided},
                                         {"cq", metric_kind::cq},
                                         {"matching", metric_kind::matching},
                                         {"packet", metric_kind::packet},
                                         {"registration", metric_kind::registration},
                                         {"ownatomic", metric_kind::ownatomic},
                                         {"lockedqueue", metric_kind::lockedqueue},
                                         {"malloc", metric_kind::malloc}};
const names<comp_kind> comp_names = {
    {"handler", comp_kind::handler}, {"cq", comp_kind::cq}, {"sync", comp_kind::sync}, {"counter", comp_kind::counter}};
const names<bind_kind> bind_names = {{"pack", bind_kind::pack}, {"cross", bind_kind::cross}, {"none", bind_kind::none}};

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

std::vector<size_t> default_sizes(op_kind op, metric_kind m) {
  if (op == op_kind::resource)
    return {m == metric_kind::registration ? 1048576u : m == metric_kind::malloc ? 8192u : 0u};
  if (m == metric_kind::ring64) return {56};
  if (m == metric_kind::strided || is_strided(op)) return {block_bytes};
  if (m == metric_kind::bandwidth || m == metric_kind::bidirectional || m == metric_kind::cma ||
      m == metric_kind::memcpy)
    return {16, 256, 4096, 65536, 1048576};
  return {8};
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
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return std::string("lci_perf: ") + e.what() + "\nRun with --help for more information.\n";
  });
  app.add_option("OP", op, "what to measure")->required()->check(CLI::IsMember(keys(op_names)));
  app.add_option("METRIC", metric, "which of its figures: see below")
      ->required()
      ->check(CLI::IsMember(keys(metric_names)));
  app.add_option("--size", o.sizes, "bytes a message: N[,N...]")->delimiter(',');
  app.add_option("--threads", o.threads, "pairs of threads that communicate concurrently; resource: threads")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--devices", devices,
                 "shared: all threads use one device; dedicated: a pair each, on one rank each end of a pair")
      ->check(CLI::IsMember(std::set<std::string>{"shared", "dedicated"}))
      ->capture_default_str();
  app.add_option("--comp", comp,
                 "what notifies of arrivals: completion handler, queue, synchronizer; counter, but not of am")
      ->check(CLI::IsMember(keys(comp_names)))
      ->capture_default_str();
  app.add_flag("--zero-copy", o.zero_copy, "cq and sync: take active messages as packets instead of malloc'ed copies");
  app.add_option("--window", o.window, "rate, bandwidth: messages in flight for each pair")
      ->check(CLI::Range(4, 65536))
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "measured rounds; the median is printed")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--iterations", o.iterations, "messages a round and pair (default: as many as fit into --seconds)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  app.add_option("--seconds", o.seconds, "length of a round without --iterations")
      ->check(CLI::Range(0.0001, 60.0))
      ->capture_default_str();
  app.add_option("--slots", o.slots, "floor ring64: slots of the ring")
      ->check(CLI::Range(size_t{2}, size_t{1} << 20))
      ->capture_default_str();
  app.add_option(
         "--offset", o.offset,
         "bytes from the begin of a page to the buffers of messages, puts and gets; a peer's memory begins at a page")
      ->check(CLI::Range(size_t{0}, size_t{4095}))
      ->capture_default_str();
  app.add_flag("--with-handoff", o.with_handoff,
               "latency of 2 ranks: before each round, the same processes measure a plain hand-off of "
               "a cache line; the ratio of the two is shown as well");
  app.add_flag("--percentiles", o.percentiles,
               "latency of messages: each round trip is timed as well; p50, p90, p99, p99.9 and the "
               "longest, halved");
  app.add_flag("--processes", o.processes,
               "pairs of processes instead of threads: of N ranks, r < N/2 sends to r + N/2; together");
  app.add_flag("--reg-cache", o.reg_cache, "resource registration: with the device's registration cache");
  app.add_option("--bind", bind,
                 "pack: rank r's thread t of T on core (r*T+t) mod cores; cross: on core (r+t) mod "
                 "cores, so that partners never share one; none: as the launcher left it")
      ->check(CLI::IsMember(keys(bind_names)))
      ->capture_default_str();
  app.add_flag("--no-bind", no_bind, "same as --bind none");
  CLI::Option* const json = app.add_flag("--json", o.json, "one JSON object a line instead of a table");
  app.add_flag("--csv", o.csv, "a line of names and one of values each instead of a table")->excludes(json);
  app.footer(what_is_measured);
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
