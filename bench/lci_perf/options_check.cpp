// Combinations of options that are rejected.
#include "bench/lci_perf/options.hpp"

namespace lci_perf {
namespace {

// The metrics that an operation can measure, for an error text.
std::string metrics_of(const options& o) {
  if (o.op == op_kind::floor) return "handoff, ring64, cma, memcpy, atomic, strided";
  if (o.op == op_kind::resource) return "cq, matching, packet, registration, atomic, ownatomic, lockedqueue, malloc";
  if (is_atomic(o.op) || is_collective(o.op)) return "latency, rate";
  return "latency, rate, bandwidth, bidirectional";
}
// Depends on the order of metric_kind: `atomic` belongs to floor and resource.
bool fits(op_kind op, metric_kind m) {
  if (op == op_kind::floor) return m >= metric_kind::handoff && m <= metric_kind::atomic;
  if (op == op_kind::resource) return m >= metric_kind::atomic;
  return m <= metric_kind::bidirectional;
}
bool has_one_size(const options& o) { return is_atomic(o.op) || is_strided(o.op) || o.op == op_kind::barrier; }

std::string about_metric(const options& o) {
  const std::string op = name_of(o.op), metric = name_of(o.metric);
  if (!fits(o.op, o.metric)) return op + " can't measure " + metric + "; it measures " + metrics_of(o);
  if ((o.metric == metric_kind::bandwidth || o.metric == metric_kind::bidirectional) &&
      (is_atomic(o.op) || is_collective(o.op)))
    return op + " has no bandwidth; it measures " + metrics_of(o);
  if (o.with_handoff && o.metric != metric_kind::latency)
    return "--with-handoff: " + metric + ": only a latency can be compared with it";
  if (o.percentiles && (o.metric != metric_kind::latency || !notifies_target(o.op)))
    return "--percentiles: only the latency of messages has single round trips (am, orderedam, "
           "sendrecv, "
           "putsignal, getsignal)";
  if (o.reg_cache && o.metric != metric_kind::registration)
    return "--reg-cache: applies to `resource registration` only";
  return {};
}

std::string about_size(const options& o) {
  if (!o.sizes.empty() && has_one_size(o)) return std::string("--size: ") + name_of(o.op) + " has one size only";
  if (!o.sizes.empty() && o.op == op_kind::resource && o.metric != metric_kind::registration &&
      o.metric != metric_kind::malloc)
    return "--size: resource " + std::string(name_of(o.metric)) + " has no size";
  if (!o.sizes.empty() && (o.metric == metric_kind::handoff || o.metric == metric_kind::ring64 ||
                           o.metric == metric_kind::atomic || o.metric == metric_kind::strided)) {
    return std::string("--size: ") + name_of(o.metric) + " has messages of one size only";
  }
  for (const size_t size : o.sizes) {
    if (size == 0) return "--size: 0 is not at least 1";
    if (size > (size_t{1} << 30)) {
      return "--size: " + std::to_string(size) + " is more than 1073741824 (1 GiB)";
    }
    if (o.op == op_kind::allreduce && size % sizeof(double) != 0)
      return "--size: " + std::to_string(size) + " is not a number of doubles, of 8 bytes each";
  }
  return {};
}

std::string about_completion(const options& o) {
  const std::string op = name_of(o.op);
  if (!notifies_target(o.op) && o.comp != comp_kind::handler)
    return "--comp: there is no notification of " + op + ", which is complete with its call";
  if (o.comp == comp_kind::counter && (o.op == op_kind::am || o.op == op_kind::orderedam))
    return "--comp counter: a counter provides no payload, and " + op +
           " brings one; sendrecv, putsignal and getsignal "
           "have their own buffers";
  if (o.zero_copy && ((o.op != op_kind::am && o.op != op_kind::orderedam) || o.comp == comp_kind::handler)) {
    return "--zero-copy: needs `am` or `orderedam` with --comp cq or --comp sync (handlers read messages in "
           "place anyway, receives name their own buffer)";
  }
  return {};
}

std::string about_threads(const options& o) {
  if (o.threads > 1 && !o.dedicated && is_collective(o.op))
    return std::string("--threads: ") + name_of(o.op) + " by several threads needs --devices dedicated";
  if (o.threads > 1 && o.op == op_kind::floor) return "--threads: a floor has a fixed number of threads";
  if (!o.processes) return {};
  if (o.threads > 1 || o.dedicated)
    return "--processes: each has one thread and one device; more ranks make more pairs";
  if (o.with_handoff) return "--processes: --with-handoff is for one pair";
  if (o.op == op_kind::floor || o.op == op_kind::resource || is_collective(o.op))
    return std::string("--processes: ") + name_of(o.op) + " has no pairs";
  return {};
}

std::string about_numbers(const options& o) {
  if (o.window % 4 != 0) {
    return "--window: " + std::to_string(o.window) +
           " is not a multiple of 4 (messages are acknowledged a quarter of a window at a time)";
  }
  if ((o.slots & (o.slots - 1)) != 0) {
    return "--slots: " + std::to_string(o.slots) + " is not a power of two";
  }
  return {};
}

}  // namespace

std::string contradiction(const options& o) {
  for (const auto about : {about_metric, about_size, about_completion, about_threads, about_numbers}) {
    std::string wrong = about(o);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace lci_perf
