// One rank's part of a collective operation: sends, receives and functions with a partial order, executed once as a
// completion graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lci.hpp"
#include "lib/base/check.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/range.hpp"

namespace lci::coll {

/// The resources that a plan's messages use, and the completion object. Taken from an operation's arguments.
struct scope {
  runtime_t runtime;
  device_t device;
  endpoint_t endpoint;
  matching_engine_t matching_engine;
  comp_t comp;
};
template <class Args>
scope scope_of(const Args& a) {
  return {a.runtime, a.device, a.endpoint, a.matching_engine, a.comp};
}

/// A post that uses these resources.
template <class Post>
Post within(const scope& s, Post post) {
  post.runtime(s.runtime).device(s.device).endpoint(s.endpoint).matching_engine(s.matching_engine);
  return post;
}

/// The tag of an operation's step 0. Messages of different operations must not match: a tag consists of
/// the device (8 bits), the operation's number on that device (12 bits) and the step within it (12 bits), all the same
/// at both ends. Operations whose numbers have the same 12 bits come after each other (collective_numbers).
tag_t tag_of_operation(device_t device, uint32_t number);

/// Built, then run, by one thread. Owns its graph until run(), then the graph frees itself.
class plan {
 public:
  /// A node of the graph; null by default.
  class node {
   public:
    node(graph_node_t n = nullptr) : node_(n) {}     // NOLINT: implicit on purpose
    operator graph_node_t() const { return node_; }  // NOLINT: implicit on purpose

   private:
    graph_node_t node_;
  };
  using nodes = std::initializer_list<node>;

  /// Messages of a pair of ranks whose steps differ by a multiple of this have the same tag: one must have ended before
  /// the other is posted.
  static constexpr size_t n_steps = 4096;

  plan(const char* operation, const scope& s);
  ~plan();
  plan(const plan&) = delete;
  plan& operator=(const plan&) = delete;

  int me() const { return me_; }
  int n() const { return n_; }

  /// Nodes that start when all of `after` have completed; null nodes are ignored. Both
  /// ends of a message use the same step; each message of a pair of ranks needs its own.
  node send(int rank, const void* buffer, size_t size, size_t step, nodes after = {});
  node receive(int rank, void* buffer, size_t size, size_t step, nodes after = {});
  node then(std::function<void()> function, nodes after = {});
  void order(node before, node after);

  /// Uninitialised memory that is freed when the plan has ended.
  std::byte* scratch(size_t size);

  /// Starts the plan; without a completion object, waits for its end. Its messages have left the backlog then.
  /// Throws peer_failure_error if a peer has failed, resource_error if this rank's part has.
  void run();

 private:
  struct memory;
  /// The first message takes the operation's number. So a call with invalid arguments takes none, even if
  /// only one rank makes it; nor does a call that throws before the plan runs.
  tag_t tag_of(size_t step);
  void take_number();
  node placed(node what, nodes after);
  node message(node what, nodes after);
  /// Frees a plan that was not run.
  void discard();

  const char* operation_;
  scope scope_;
  int me_, n_;
  std::optional<uint32_t> number_;
  comp_t done_;   // signalled by the graph
  comp_t graph_;  // frees itself at its end
  memory* memory_;
  node gate_;  // precedes all messages of an operation that has to wait for its tags; else null
};

// --- checks of arguments; they throw invalid_argument_error ---

/// A handler can't wait for a collective operation.
void require_no_handler(const char* operation);
void check_root(const char* operation, const plan& p, int root);
void check_buffer(const char* operation, const char* argument, const void* buffer, size_t size);
/// If calls are checked: the buffers must not overlap, unless `in_place`.
void check_apart(const char* operation, const range& sendbuf, const range& recvbuf, bool in_place = false);
void check_function(const char* operation, reduce_op_t op);
/// count * item_size. Throws if that times `blocks` is more than half of the address space.
size_t checked_bytes(const char* operation, const char* argument, size_t count, size_t item_size, size_t blocks = 1);
/// `ring_nsteps`, or its default.
size_t checked_pieces(const char* operation, const plan& p, int ring_nsteps);
[[noreturn]] void reject_algorithm(const char* operation, int value);

// --- pieces ---

/// Offset of piece i if `total` is divided evenly into n pieces.
inline size_t piece_begin(size_t total, size_t i, size_t n) { return total / n * i + (i < total % n ? i : total % n); }

inline void copy(void* to, const void* from, size_t size) {
  if (size > 0 && to != from) std::memmove(to, from, size);
}

/// An array of items and the function that combines two of them.
struct reduction {
  size_t count;
  size_t item_size;
  reduce_op_t op;
  size_t bytes() const { return count * item_size; }
  /// Combines n items. A function must not be called for items without bytes: it would access memory that no buffer
  /// has.
  void combine(const void* left, const void* right, void* to, size_t n) const {
    if (n > 0 && item_size > 0) op(left, right, to, n);
  }
};

}  // namespace lci::coll
