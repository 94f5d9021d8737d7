// Completion graph: operations and functions with a partial order (paper 3.2.5, 4.1.4).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <vector>

#include "lci/completion.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/deferred_queue.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci::core {

class graph;

/// A function and its outgoing edges. Owned by its graph.
class graph_node {
 public:
  using run_function = status_t (*)(void* value);
  using free_function = void (*)(void* value);
  using edge_function = void (*)(status_t status, void* src_value, void* dst_value);

  struct edge {
    graph_node* dst;
    edge_function fn;
  };

  graph* owner = nullptr;
  run_function run = nullptr;  // null: no function
  void* value = nullptr;
  free_function free = nullptr;
  std::vector<edge> out;
  int n_in = 0;

  // State in the current run.
  enum class phase : uint32_t {
    idle,         // not started, or completed
    in_function,  // the function has been called and has not returned
    waiting,      // the function has returned `posted`; mark_complete() completes the node
    marking,      // mark_complete() was called while the function ran, and is storing its status
    marked,       // that status is stored; the thread that ran the function completes the node
    thrown,       // the function threw, which completed the node; its operation may still signal
  };
  struct rerun : deferred_task {
    explicit rerun(graph_node* n);
    graph_node* const node;
  } again{this};                // in the list of deferred work after the function has returned `retry`
  std::atomic<int> pending{0};  // predecessors that have not completed
  std::atomic<phase> state{phase::idle};
  status_t early_status;             // of a mark_complete() that was called while the function ran
  graph_node* next_ready = nullptr;  // in the list of the thread that is going to run the node

  /// Called by the thread that ran the function, afterwards. Returns false if the node is in phase `next`;
  /// if that is `waiting`, another thread may complete the node and free the graph at once.
  /// Returns true if mark_complete() was called while the function ran; then early_status is set.
  bool leave(phase next);

 private:
  void await_early_status() const;
};

/// Owns its nodes. One thread at a time builds, starts and restarts it; while it runs, any thread may complete
/// nodes, test it, or wait for it.
///
/// A node whose function returns `done` completes at once; one that returns `posted` completes when mark_complete() or
/// signal() is called for it; one that returns `retry` is run again from the list of deferred work. A node never
/// completes while its function runs: an earlier mark_complete() takes effect when the function returns. A node runs
/// in the thread that completes its last predecessor, without recursion, however long the chain. The graph is done
/// when all its nodes are, whether or not they have an edge to the end.
///
/// A node that ends with the status `fatal`, or a node or edge function that throws, ends the run
/// early: nodes that have not been started are skipped. When the others have completed, test() returns
/// `fatal`, with the rank of the first such status, or throws the exception. The status of the
/// completion object is `fatal` with the rank, if known, in both cases.
///
/// Memory orders. R1/A1 on `pending`: a node sees what happened in all its predecessors. R2/A2 on
/// `remaining_`: a thread that finds the graph done (R3/A3 on `state_`) sees what happened in all nodes.
/// R4/A4 on a node's `state`: the thread that called the function sees the status that another
/// thread passed to mark_complete() meanwhile.
class graph final : public comp_impl_t, public object_memory<graph, false> {
 public:
  /// `completion`, if not null, is signalled at the end of a run, and the graph then deletes itself.
  /// `deferred` holds the nodes that returned `retry`; without it, test() runs them.
  explicit graph(attr_t a, comp_impl_t* completion = nullptr, deferred_queue* deferred = nullptr,
                 void* user_context = nullptr);
  ~graph() override;

  graph_node* start_node() { return &nodes_[0]; }
  graph_node* end_node() { return &nodes_[1]; }

  // These throw invalid_argument_error if the graph is running or an argument is invalid.
  graph_node* add_node(graph_node::run_function run, void* value, graph_node::free_function free);
  void add_edge(graph_node* src, graph_node* dst, graph_node::edge_function fn);
  /// Starts the first or another run. Throws invalid_argument_error if there is a cycle.
  void start();

  /// `done` or `fatal` if the run has ended, else `retry`. Rethrows the exception of a node.
  status_t test();
  bool started() const { return state_.load(std::memory_order_relaxed) != idle; }
  bool running() const { return (state_.load(std::memory_order_acquire) & ~asleep) == in_run; }
  /// Sleeps until the run may have ended, at most `timeout_ns` (negative: for ever).
  void sleep(int64_t timeout_ns);

  /// Completes a node whose function returned `posted`. Throws invalid_argument_error if the node is not running. Does
  /// nothing, once, for a node whose function threw: the exception has completed it.
  static void mark_complete(graph_node* node, status_t status);
  /// Completes the node given by the status's user context. Called by network operations.
  void signal(status_t status) override;

 private:
  // The nodes that one thread is going to run, first in, first out.
  struct ready_list {
    uint64_t graph_id;
    ready_list* outer;  // of another graph, one of whose nodes this thread is running
    graph_node* head = nullptr;
    graph_node* tail = nullptr;
    void push(graph_node* n);
    graph_node* pop();
  };
  static thread_local ready_list* tls_ready;
  template <class F>
  static void drive(graph* g, F begin);

  friend class graph_node;
  static bool retry(deferred_task* again);
  bool run(graph_node* n, ready_list& ready);
  void complete(graph_node* n, const status_t& status, ready_list& ready);
  void finish();
  void fail(int rank, errorcode_t why, std::exception_ptr thrown);
  void fail_by_exception();
  status_t outcome() const;
  void check_structure();
  void require_rest(const char* operation) const;

  static constexpr uint32_t idle = 0, in_run = 1, done = 2, asleep = 4;

  const uint64_t id_;  // unlike the address, never reused
  comp_impl_t* const completion_;
  deferred_queue own_deferred_;
  deferred_queue* const deferred_;
  void* const user_context_;
  std::deque<graph_node> nodes_;  // the first two: start and end
  bool checked_ = false;          // known to have no cycles

  std::atomic<uint32_t> state_{idle};  // also the futex
  std::atomic<size_t> remaining_{0};   // nodes that have not completed
  std::atomic<bool> failed_{false};
  spinlock failure_lock_;
  std::exception_ptr thrown_;  // under failure_lock_ while the graph runs, as are the next two
  int failed_rank_ = -1;
  errorcode_t failed_as_ = errorcode_t::fatal;  // of the failed operation
};

}  // namespace lci::core
