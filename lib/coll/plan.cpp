#include "lib/coll/plan.hpp"

#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "lib/base/call_watch.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/kept_exceptions.hpp"

namespace lci::coll {

/// Owned by the graph, which frees it at its end.
struct plan::memory {
  std::deque<std::function<void()>> functions;
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  std::shared_ptr<core::collective_numbers> numbers;  // null until the plan runs, or if it has no messages
  core::collective_turn turn;

  ~memory() {
    if (numbers != nullptr) numbers->end(turn.number);
  }
};

plan::plan(const char* operation, const scope& s)
    : operation_(operation),
      scope_(s),
      me_(get_rank_me_x().runtime(s.runtime)()),
      n_(get_rank_n_x().runtime(s.runtime)()),
      done_(s.comp) {
  if (done_.is_empty()) done_ = alloc_sync_x().runtime(s.runtime)();
  try {
    graph_ = alloc_graph_x().runtime(s.runtime).comp(done_)();
    auto owned = std::make_unique<memory>();
    memory_ = owned.get();
    detail::graph_add_value(
        graph_, [](void*) { return status_t(errorcode_t::done); }, std::move(owned));
  } catch (...) {
    discard();
    throw;
  }
}

plan::~plan() {
  if (!graph_.is_empty()) discard();  // not run, because of an exception
}

void plan::discard() {
  if (!graph_.is_empty()) free_comp(&graph_);
  if (scope_.comp.is_empty()) free_comp(&done_);
  if (number_) scope_.device.p_impl->collective_numbers->take_back(*number_);
}

tag_t tag_of_operation(device_t device, uint32_t number) {
  static_assert(plan::n_steps == 1 << 12 && core::collective_numbers::n_distinct == 1 << 12);
  return (static_cast<tag_t>(device.p_impl->attr.uid) & 0xff) << 24 | (static_cast<tag_t>(number) & 0xfff) << 12;
}

tag_t plan::tag_of(size_t step) {
  if (!number_) take_number();
  return tag_of_operation(scope_.device, *number_) | (step & (n_steps - 1));
}

void plan::take_number() {
  core::collective_numbers& numbers = *scope_.device.p_impl->collective_numbers;
  number_ = numbers.next();
  core::collective_turn& turn = memory_->turn;
  turn.number = *number_;
  if (numbers.may_send(turn.number)) return;
  const graph_node_run_cb_t wait = [](void* value) {
    auto& m = *static_cast<memory*>(value);
    return status_t(m.numbers->may_send_or_wait(m.turn) ? errorcode_t::done : errorcode_t::posted);
  };
  gate_ = graph_add_node_x(graph_, wait).value(memory_)();
  turn.graph = graph_.p_impl;
  turn.gate = gate_;
}

plan::node plan::placed(node what, nodes after) {
  for (const node& before : after) order(before, what);
  return what;
}

plan::node plan::message(node what, nodes after) {
  order(gate_, what);
  return placed(what, after);
}

void plan::order(node before, node after) {
  if (before != nullptr && after != nullptr) graph_add_edge(graph_, before, after);
}

namespace {

/// A post of a running plan. If there is no memory, returns `retry_nomem`, so that the graph posts it again: other
/// ranks wait for it. Throws resource_error after memory_tries attempts. A send is done when its message has left the
/// backlog, since the program may make no progress on this device afterwards.
template <class Post>
class retried_post {
 public:
  retried_post(Post post, device_t device, int rank) : post_(post), device_(*device.p_impl), rank_(rank) {}
  void local_comp(comp_t comp) { post_.local_comp(comp); }
  void user_context(void* context) { post_.user_context(context); }
  status_t operator()() {
    if (!queued_) {
      try {
        const status_t status = post_();
        if (LCI_LIKELY(status.error != errorcode_t::done_backlog)) return status;
        queued_ = true;
      } catch (const resource_error&) {
        if (++tries_ == memory_tries || is_closing()) throw;
        await_memory();
        return errorcode_t::retry_nomem;
      }
    }
    return device_.backlog.bytes_for(rank_) == 0 || is_closing() ? errorcode_t::done : errorcode_t::retry_backlog;
  }

 private:
  /// Returns true if the device is being freed: it sends what is in the backlog, and nothing may be repeated later.
  bool is_closing() const { return device_.lifetime.closing(); }

  Post post_;
  core::device& device_;
  const int rank_;
  int tries_ = 0;
  bool queued_ = false;
};

}  // namespace

plan::node plan::send(int rank, const void* buffer, size_t size, size_t step, nodes after) {
  const post_send_x post(rank, buffer, size, tag_of(step), COMP_NULL);
  return message(graph_add_node_op(graph_, retried_post(within(scope_, post), scope_.device, rank)), after);
}

plan::node plan::receive(int rank, void* buffer, size_t size, size_t step, nodes after) {
  const post_recv_x post(rank, buffer, size, tag_of(step), COMP_NULL);
  return message(graph_add_node_op(graph_, retried_post(within(scope_, post), scope_.device, rank)), after);
}

plan::node plan::then(std::function<void()> function, nodes after) {
  auto& kept = memory_->functions.emplace_back(std::move(function));
  const graph_node_run_cb_t run = [](void* value) {
    (*static_cast<std::function<void()>*>(value))();
    return status_t(errorcode_t::done);
  };
  return placed(graph_add_node_x(graph_, run).value(&kept)(), after);
}

std::byte* plan::scratch(size_t size) {
  // Not value-initialised: it is read only where it was written.
  return memory_->blocks.emplace_back(new std::byte[size]).get();
}

void plan::run() {
  if (scope_.comp.is_empty()) require_no_handler(operation_);
  if (number_) memory_->numbers = scope_.device.p_impl->collective_numbers;
  const comp_t graph = std::exchange(graph_, comp_t());  // once started, it frees itself
  graph_start(graph);
  if (!scope_.comp.is_empty()) return;
  // If progress() throws because a peer has failed, the synchronizer is not freed, since the graph may still
  // signal it.
  status_t status;
  core::kept_exceptions kept(*scope_.device.p_impl);
  const auto wait = [&] { sync_wait_x(done_, &status).runtime(scope_.runtime).device(scope_.device)(); };
  while (!kept.call(wait)) continue;
  free_comp(&done_);
  const errorcode_t code = status.error.errorcode;
  if (code < errorcode_t::fatal) return;
  if (status.rank < 0)
    throw resource_error(std::string(operation_) +
                         ": this rank could not do its part: it had no memory, or a function threw; other ranks wait");
  throw peer_failure_error(status.rank, std::string(operation_) + ": rank " + std::to_string(status.rank) +
                                            (code == errorcode_t::fatal ? " has failed"
                                                                        : std::string(" ended its part as `") +
                                                                              get_errorcode_str(code) + "`"));
}

void require_no_handler(const char* operation) {
  if (core::tls_in_progress)
    throw_invalid(operation, "caller", "a handler", "outside of progress()",
                  "pass .comp(), which is signalled at its end");
}

void check_root(const char* operation, const plan& p, int root) {
  if (root < 0 || root >= p.n())
    throw_invalid(operation, "root", std::to_string(root), "0.." + std::to_string(p.n() - 1));
}

void check_buffer(const char* operation, const char* argument, const void* buffer, size_t size) {
  if (buffer == nullptr && size > 0)
    throw_invalid(operation, argument, "nullptr", "an address",
                  "it holds " + std::to_string(size) + " bytes at this rank");
}

void check_apart(const char* operation, const range& sendbuf, const range& recvbuf, bool in_place) {
  if (watched_for(calls_are_checked) && !in_place && sendbuf.overlaps(recvbuf))
    throw_invalid(operation, "recvbuf", "overlapping sendbuf", "memory apart from that");
}

void check_function(const char* operation, reduce_op_t op) {
  if (op == nullptr) throw_invalid(operation, "op", "nullptr", "a function");
}

size_t checked_bytes(const char* operation, const char* argument, size_t count, size_t item_size, size_t blocks) {
  constexpr size_t most = std::numeric_limits<size_t>::max() / 2;
  size_t block, all;
  if (__builtin_mul_overflow(count, item_size, &block) || __builtin_mul_overflow(block, blocks, &all) || all > most)
    throw_invalid(operation, argument,
                  std::to_string(count) + " (item_size = " + std::to_string(item_size) + ", " + std::to_string(blocks) +
                      " blocks)",
                  "at most " + std::to_string(most) + " bytes in all");
  return block;
}

size_t checked_pieces(const char* operation, const plan& p, int ring_nsteps) {
  if (ring_nsteps < 0) throw_invalid(operation, "ring_nsteps", std::to_string(ring_nsteps), "at least 0");
  return ring_nsteps > 0 ? static_cast<size_t>(ring_nsteps) : static_cast<size_t>(p.n() > 1 ? p.n() - 1 : 1);
}

void reject_algorithm(const char* operation, int value) {
  throw_invalid(operation, "algorithm", std::to_string(value), "a value of its enumeration");
}

}  // namespace lci::coll
