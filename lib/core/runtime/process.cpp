#include "lib/core/runtime/process.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>

#include "lci/operations.hpp"
#include "lib/base/call_watch.hpp"
#include "lib/core/runtime/exchange.hpp"
#include "network/open.hpp"

namespace lci::core {

namespace {

std::mutex process_mutex;
int n_initialized[2] = {};  // by initializer; under process_mutex
std::atomic<int> process_rank{-1}, process_size{-1};

// --- under process_mutex ---

int& count_of(initializer who) { return n_initialized[static_cast<size_t>(who)]; }
bool is_initialized() { return n_initialized[0] + n_initialized[1] > 0; }

void forget_rank() {
  process_rank.store(-1, std::memory_order_relaxed);
  process_size.store(-1, std::memory_order_relaxed);
}

void learn_rank(const runtime_attr_t& attr, const net_context_attr_t& net_attr) {
  const network::fabric& fabric = network::choose_fabric(net_attr);
  const bool lone = attr.bootstrap == no_bootstrap;
  if ((lone ? fabric.own_lone_exchange : fabric.own_exchange) != nullptr) return;
  const auto exchange = bootstrap_exchange({attr.bootstrap, attr.bootstrap_timeout});
  process_rank.store(exchange->rank(), std::memory_order_relaxed);
  process_size.store(exchange->size(), std::memory_order_relaxed);
}

}  // namespace

void initialize_process(initializer who, const runtime_attr_t& attr, const net_context_attr_t& net_attr) {
  std::lock_guard guard(process_mutex);
  if (!is_initialized()) learn_rank(attr, net_attr);
  ++count_of(who);  // after learn_rank(), which may throw
}

void finalize_process(initializer who) {
  std::lock_guard guard(process_mutex);
  if (count_of(who) == 0) return;
  --count_of(who);
  if (!is_initialized()) forget_rank();
}

void forget_process() {
  new (&process_mutex) std::mutex;  // another thread of the parent may have held it in fork()
  std::lock_guard guard(process_mutex);
  for (int& n : n_initialized) n = 0;
  forget_rank();
}

int rank_of_process() { return process_rank.load(std::memory_order_relaxed); }
int size_of_process() { return process_size.load(std::memory_order_relaxed); }

}  // namespace lci::core

namespace lci {

void detail::global_initialize(uint64_t layout_of_the_program) {
  require_layout(layout_of_the_program);
  core::initialize_process(core::initializer::program, default_runtime_attr(), default_net_context_attr());
}

void global_finalize() {
  if (watched_for(process_was_forked)) return;  // destructors of a forked child may call this
  core::finalize_process(core::initializer::program);
}

}  // namespace lci
