#include "lib/comp/graph.hpp"

#include <sched.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include "lci/handles.hpp"
#include "lib/base/check.hpp"
#include "lib/base/log.hpp"
#include "lib/concurrent/parking.hpp"

namespace lci::core {

bool graph_node::leave(phase next) {
  phase now = phase::in_function;
  if (state.compare_exchange_strong(now, next, std::memory_order_acq_rel, std::memory_order_acquire)) return false;
  if (now == phase::idle) return false;  // left before
  await_early_status();
  state.store(phase::idle, std::memory_order_relaxed);
  return true;
}

// The wait is short: the thread that marks the node only copies a status.
void graph_node::await_early_status() const {
  while (state.load(std::memory_order_acquire) != phase::marked)  // A4: pairs with R4
    sched_yield();
}

thread_local graph::ready_list* graph::tls_ready = nullptr;

void graph::ready_list::push(graph_node* n) {
  n->next_ready = nullptr;
  if (head) {
    tail->next_ready = n;
  } else {
    head = n;
  }
  tail = n;
}

graph_node* graph::ready_list::pop() {
  graph_node* n = head;
  if (n) head = n->next_ready;
  return n;
}

// Runs the nodes that `begin` makes ready. Inside a node of the same graph they are only added to
// the list of the enclosing call, so a chain of nodes that complete each other is a loop, not a
// recursion. Inside a node of another graph they run at once, since that node may wait for them.
template <class F>
void graph::drive(graph* g, F begin) {
  const uint64_t id = g->id_;
  for (ready_list* l = tls_ready; l; l = l->outer)
    if (l->graph_id == id) return begin(*l);
  ready_list list{id, tls_ready};
  struct restore {
    ~restore() { tls_ready = outer; }
    ready_list* outer;
  } at_end{tls_ready};
  tls_ready = &list;
  begin(list);
  // The last node that completes may free the graph; the list is empty then.
  while (graph_node* n = list.pop()) g->run(n, list);
}

namespace {
uint64_t next_graph_id() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}
}  // namespace

graph::graph(attr_t a, comp_impl_t* completion, deferred_queue* deferred, void* user_context)
    : comp_impl_t(a),
      id_(next_graph_id()),
      completion_(completion),
      deferred_(deferred ? deferred : &own_deferred_),
      user_context_(user_context),
      nodes_(2) {
  attr.comp_type = attr_comp_type_t::graph;
  for (graph_node& n : nodes_) n.owner = this;
}

graph::~graph() {
  for (graph_node& n : nodes_)
    if (n.free) n.free(n.value);
}

void graph::require_rest(const char* operation) const {
  if (running()) throw_invalid(operation, "graph", "running", "at rest", "wait until graph_test() returns done");
}

graph_node* graph::add_node(graph_node::run_function run, void* value, graph_node::free_function free) {
  require_rest("graph_add_node");
  graph_node& n = nodes_.emplace_back();
  n.owner = this;
  n.run = run;
  n.value = value;
  n.free = free;
  checked_ = false;
  return &n;
}

void graph::add_edge(graph_node* src, graph_node* dst, graph_node::edge_function fn) {
  require_rest("graph_add_edge");
  if (src->owner != this) throw_invalid("graph_add_edge", "src", "a node of another graph", "a node of this graph");
  if (dst->owner != this) throw_invalid("graph_add_edge", "dst", "a node of another graph", "a node of this graph");
  if (src == end_node()) throw_invalid("graph_add_edge", "src", "GRAPH_END", "a node other than the end");
  if (dst == start_node()) throw_invalid("graph_add_edge", "dst", "GRAPH_START", "a node other than the start");
  if (src == dst) throw_invalid("graph_add_edge", "dst", "src", "another node");
  src->out.push_back({dst, fn});
  ++dst->n_in;
  checked_ = false;
}

// Throws if a cycle prevents nodes from running. Does not allocate, so that start() has nothing to undo.
void graph::check_structure() {
  ready_list order{id_, nullptr};
  for (graph_node& n : nodes_) {
    n.pending.store(n.n_in, std::memory_order_relaxed);
    if (n.n_in == 0) order.push(&n);
  }
  size_t reached = 0;
  for (; graph_node* n = order.pop(); ++reached)
    for (const graph_node::edge& e : n->out)
      if (e.dst->pending.fetch_sub(1, std::memory_order_relaxed) == 1) order.push(e.dst);
  if (reached != nodes_.size())
    throw_invalid("graph_start", "edges", "a cycle around " + std::to_string(nodes_.size() - reached) + " nodes",
                  "free of cycles");
  checked_ = true;
}

void graph::start() {
  require_rest("graph_start");
  if (!checked_) check_structure();
  ready_list roots{id_, nullptr};
  for (graph_node& n : nodes_) {
    n.pending.store(n.n_in, std::memory_order_relaxed);
    n.state.store(graph_node::phase::idle, std::memory_order_relaxed);
    if (n.n_in == 0) roots.push(&n);
  }
  remaining_.store(nodes_.size(), std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  thrown_ = nullptr;
  failed_rank_ = -1;
  state_.store(in_run, std::memory_order_release);
  drive(this, [&](ready_list& ready) {
    while (graph_node* n = roots.pop()) ready.push(n);
  });
}

status_t graph::test() {
  if ((state_.load(std::memory_order_acquire) & ~asleep) == done) {  // A3: pairs with R3
    if (thrown_) std::rethrow_exception(thrown_);
    return outcome();
  }
  if (own_deferred_.count.load(std::memory_order_relaxed) != 0) own_deferred_.run();
  return errorcode_t::retry;
}

void graph::sleep(int64_t timeout_ns) {
  uint32_t s = state_.load(std::memory_order_relaxed);
  if (s == done) return;
  if (!(s & asleep) &&
      !state_.compare_exchange_strong(s, s | asleep, std::memory_order_relaxed, std::memory_order_relaxed))
    return;
  os_futex::wait(&state_, s | asleep, timeout_ns);
}

void graph::mark_complete(graph_node* n, status_t status) {
  using phase = graph_node::phase;
  phase now = n->state.load(std::memory_order_acquire);
  for (;;) {
    if (now == phase::waiting) {
      if (!n->state.compare_exchange_weak(now, phase::idle, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      return drive(n->owner, [&](ready_list& ready) { n->owner->complete(n, status, ready); });
    }
    if (now == phase::in_function) {
      if (!n->state.compare_exchange_weak(now, phase::marking, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      n->early_status = status;
      // R4: pairs with A4. The last access: the thread that completes the node may free the graph.
      return n->state.store(phase::marked, std::memory_order_release);
    }
    if (now == phase::thrown) {
      if (!n->state.compare_exchange_weak(now, phase::idle, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      return;
    }
    throw_invalid("graph_node_mark_complete", "node", "not running", "started and not yet completed");
  }
}

void graph::signal(status_t status) {
  auto* n = static_cast<graph_node*>(status.user_context);
  if (!detail::is_object(n))
    throw_invalid("comp_signal", "status.user_context", "null or a constant", "the node that has completed",
                  "give the operation the node as its user_context");
  if (n->owner != this)
    throw_invalid("comp_signal", "status.user_context", "a node of another graph", "a node of this graph");
  mark_complete(n, status);
}

graph_node::rerun::rerun(graph_node* n) : deferred_task(graph::retry, true), node(n) {}

bool graph::retry(deferred_task* again) {
  graph_node* const n = static_cast<graph_node::rerun*>(again)->node;
  bool achieved = false;
  drive(n->owner, [&](ready_list& ready) { achieved = n->owner->run(n, ready); });
  return achieved;
}

// Returns false if the node has to be run again. After a node that returned `posted`, the graph may have been freed.
bool graph::run(graph_node* n, ready_list& ready) {
  status_t status(errorcode_t::done);
  if (n->run && LCI_LIKELY(!failed_.load(std::memory_order_relaxed))) {
    n->state.store(graph_node::phase::in_function, std::memory_order_relaxed);
    try {
      status = n->run(n->value);
      if (status.is_posted()) {
        if (!n->leave(graph_node::phase::waiting)) return true;
        status = n->early_status;
      } else if (n->leave(graph_node::phase::idle)) {
        throw_invalid("graph", "node", "completed twice", "either marked complete or `done` by its function",
                      "return posted");
      } else if (status.is_retry()) {
        deferred_->push(&n->again);
        return false;
      }
    } catch (...) {
      fail_by_exception();
      n->leave(graph_node::phase::thrown);
    }
  }
  complete(n, status, ready);
  return true;
}

void graph::complete(graph_node* n, const status_t& status, ready_list& ready) {
  if (LCI_UNLIKELY(status.error.errorcode >= errorcode_t::fatal)) fail(status.rank, status.error.errorcode, nullptr);
  for (const graph_node::edge& e : n->out) {
    try {
      if (e.fn && !failed_.load(std::memory_order_relaxed)) e.fn(status, n->value, e.dst->value);
    } catch (...) {
      fail_by_exception();
    }
    // R1, A1: each pairs with the others
    if (e.dst->pending.fetch_sub(1, std::memory_order_acq_rel) == 1) ready.push(e.dst);
  }
  if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) finish();  // R2, A2: each pairs with the others
}

void graph::finish() {
  if (completion_) {
    comp_impl_t* completion = completion_;
    const status_t status = outcome();
    delete this;
    completion->signal(status);
    return;
  }
  // The last access: a thread that sees `done` may free the graph.
  const uint32_t before = state_.exchange(done, std::memory_order_acq_rel);  // R3: pairs with A3
  if (before & asleep) os_futex::wake_all(&state_);
}

namespace {

/// A run that misuse has ended is over only when its outstanding nodes have ended. They may wait for messages that
/// nobody sends any more, so the program may never get the exception from graph_test().
void warn_of_misuse(const char* text) noexcept {
  char line[512];
  std::snprintf(line, sizeof line,
                "a node of a graph has failed: %s; the graph ends when its outstanding nodes have ended", text);
  log_warning(line);
}

}  // namespace

// Only the first failure is stored: later ones may be its consequence.
void graph::fail(int rank, errorcode_t why, std::exception_ptr thrown) {
  std::lock_guard guard(failure_lock_);
  if (failed_.load(std::memory_order_relaxed)) return;
  failed_rank_ = rank;
  failed_as_ = why;
  thrown_ = std::move(thrown);
  failed_.store(true, std::memory_order_relaxed);
}

void graph::fail_by_exception() {
  try {
    throw;
  } catch (const peer_failure_error& e) {
    fail(e.failed_rank(), errorcode_t::fatal, std::current_exception());
  } catch (const invalid_argument_error& e) {
    if (!failed_.load(std::memory_order_relaxed)) warn_of_misuse(e.what());
    fail(-1, errorcode_t::fatal, std::current_exception());
  } catch (...) {
    fail(-1, errorcode_t::fatal, std::current_exception());
  }
}

// The status of a run that has ended without an exception.
status_t graph::outcome() const {
  status_t status(failed_.load(std::memory_order_relaxed) ? failed_as_ : errorcode_t::done);
  status.rank = failed_rank_;
  status.user_context = user_context_;
  return status;
}

}  // namespace lci::core
