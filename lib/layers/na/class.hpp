// An NA class: a runtime of the core with one rank, and the peers that are connected with it.
#pragma once

#include <na.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lci.hpp"
#include "lib/layers/na/addresses.hpp"
#include "lib/layers/na/background.hpp"
#include "lib/layers/na/direct_messages.hpp"
#include "lib/layers/na/introductions.hpp"
#include "lib/layers/na/lookups.hpp"
#include "lib/layers/na/operation.hpp"
#include "lib/layers/na/unexpected_messages.hpp"
#include "lib/layers/na/url.hpp"
#include "lib/layers/na/waiting_posts.hpp"

/// The implementation of na_class_t. Owns runtime, device, peers and operations; the program owns contexts and memory
/// handles. Thread-safe.
struct na_class {
  static constexpr uint64_t alive = 0x6e615f636c617373;  // "na_class"

  /// Throws lci::resource_error if the port is in use, lci::invalid_argument_error if other hosts can reach the address
  /// but no configuration says which of them may connect, and other exceptions of the core.
  na_class(const na::url& at, bool listen);
  ~na_class();
  na_class(const na_class&) = delete;
  na_class& operator=(const na_class&) = delete;

  /// One round of progress. The failure of a peer makes its addresses stale, and is no exception. Returns whether
  /// anything happened.
  bool progress() { return progress(1); }
  /// Up to `most` rounds, until anything has happened.
  bool progress(unsigned most) {
    if (!attended.load(std::memory_order_relaxed)) attended.store(true, std::memory_order_relaxed);
    return advance(most);
  }
  /// The same, for the thread of `neglected`.
  bool advance(unsigned most = 1);
  /// Makes the addresses of a peer stale whose failure a wait of the core has reported.
  void forget_failed(const lci::peer_failure_error& e);
  /// Ends the connections with the peers of the context's outstanding operations, which fail then. For peers that have
  /// not answered for long. No thread may start or trigger operations of the context meanwhile.
  void end_peers_of(const na_context_t* context);
  /// Completes the operation: adds it to its context's queue.
  void finish(na::operation* op, lci::status_t status);
  /// Allocates an operation and sets the members that all types of operations use.
  na::operation* begin(na_context_t* context, na_cb_type_t type, na_cb_t callback, void* arg);
  /// The same, for an answer of direct.hpp.
  na::operation* begin_answer(na_context_t* context, na_cb_type_t type, na_cb_t callback, void* arg);
  /// Posts the operation. Returns false if the core returns `retry`. Throws what the core's posts throw;
  /// peer_failure_error also for a stale address.
  bool post(na::operation* op);
  /// Posts the operation now, or from progress if the core returns `retry`. If this throws, the caller still owns it.
  void start(na::operation* op);
  /// Makes the leader, if there is one, look again for what waits to be posted. For a thread that has made something
  /// wait.
  void wake_leader();
  /// Stores the core's name of a posted operation, for cancelling; for operations whose `one_is_done` was false.
  void posted(na::operation* op, lci::operation_t name);
  /// Called once by the posting thread and once by the thread that has run the callback; the second call frees the
  /// operation.
  void done_with(na::operation* op);

  /// Calls `f`, which posts. The core throws invalid_argument_error for the id of a disconnected peer; this function
  /// throws peer_failure_error instead.
  template <class F>
  auto with_peer(na::addr peer, F f) {
    try {
      return f();
    } catch (const lci::invalid_argument_error&) {
      if (peer.rank == 0) throw;
      throw lci::peer_failure_error(static_cast<int>(peer.rank), "the peer has left");
    }
  }

  uint64_t magic = alive;
  na_class* next = nullptr;  // in the list of open classes (life.cpp)
  const bool self_only;
  const na::identity who;
  const uint32_t most_calls;  // unanswered calls of each peer that this class accepts
  const uint64_t call_bytes;  // of fetched arguments, for each peer: for HG and lci/rpc.hpp
  std::string name;           // by which other processes look this one up
  lci::runtime_t runtime;
  lci::net_context_t network;
  lci::device_t device;
  std::unique_ptr<na::address_book> book;
  na::operation_pool operations;
  na::waiting_posts waiting;
  na::introductions introduced;
  na::direct_messages direct;
  na::unexpected_messages unexpected;
  na::lookups searching;
  na::background neglected;
  std::atomic<bool> attended{false};  // a thread of the program has made progress since the last check of `neglected`

  // Says whether some thread is the leader, which makes progress and sleeps in the core. Other threads in NA_Progress()
  // sleep until the leader returns and wakes one of them (progress.cpp).
  std::atomic<bool> led{false};
  std::mutex contexts_mutex;
  std::vector<na_context_t*> contexts;

 private:
  void open(const na::url& at, bool listen);
  void close();
  bool post_to(na::operation* op);
};

namespace na {

/// Bytes of the largest expected or unexpected message. Fits in a packet of the core, so sends complete when posted.
constexpr na_size_t max_message = 4096;

/// Returns whether the argument is a class that was not finalized. For a finalized one this reads freed memory, which
/// detects most such errors of C programs.
inline bool valid(const na_class_t* c) { return c != nullptr && c->magic == na_class_t::alive; }

}  // namespace na
