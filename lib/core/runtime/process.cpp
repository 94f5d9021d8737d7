#include "lib/core/runtime/process.hpp"

#include <atomic>
#include <mutex>

#include "lci/operations.hpp"
#include "lib/base/call_watch.hpp"
#include "lib/core/runtime/exchange.hpp"
#include "network/open.hpp"

namespace lci::core {

namespace {

std::mutex process_mutex;
int n_initialized = 0;  // under process_mutex
std::atomic<int> process_rank{-1}, process_size{-1};

void learn_rank(const runtime_attr_t& attr, const net_context_attr_t& net_attr) {
  const network::fabric& fabric = network::choose_fabric(net_attr);
  const bool lone = attr.bootstrap == no_bootstrap;
  if ((lone ? fabric.own_lone_exchange : fabric.own_exchange) != nullptr) return;
  const auto exchange = bootstrap_exchange({attr.bootstrap, attr.bootstrap_timeout});
  process_rank.store(exchange->rank(), std::memory_order_relaxed);
  process_size.store(exchange->size(), std::memory_order_relaxed);
}

}  // namespace

void initialize_process(const runtime_attr_t& attr, const net_context_attr_t& net_attr) {
  std::lock_guard guard(process_mutex);
  if (n_initialized == 0) learn_rank(attr, net_attr);
  ++n_initialized;  // after learn_rank(), which may throw
}

void finalize_process() {
  std::lock_guard guard(process_mutex);
  if (n_initialized == 0 || --n_initialized > 0) return;
  process_rank.store(-1, std::memory_order_relaxed);
  process_size.store(-1, std::memory_order_relaxed);
}

void forget_process() {
  std::lock_guard guard(process_mutex);
  n_initialized = 0;
  process_rank.store(-1, std::memory_order_relaxed);
  process_size.store(-1, std::memory_order_relaxed);
}

int rank_of_process() { return process_rank.load(std::memory_order_relaxed); }
int size_of_process() { return process_size.load(std::memory_order_relaxed); }

}  // namespace lci::core

namespace lci {

void detail::global_initialize(uint64_t layout_of_the_program) {
  require_layout(layout_of_the_program);
  core::initialize_process(default_runtime_attr(), default_net_context_attr());
}

void global_finalize() {
  if (watched_for(process_was_forked)) return;  // destructors of a forked child may call this
  core::finalize_process();
}

}  // namespace lci
