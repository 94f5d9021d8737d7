// A class: a runtime of the core, which is a job of one rank, and the peers that it is connected with.
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

/// Owns all that is of the network; contexts and handles of memory are the program's. Thread-safe.
struct na_class {
  static constexpr uint64_t alive = 0x6e615f636c617373;  // "na_class"

  /// Throws what the core throws: lci::resource_error if the port is taken, lci::invalid_argument_error for an address
  /// that other hosts reach if it is not configured who may connect.
  na_class(const na::url& at, bool listen);
  ~na_class();
  na_class(const na_class&) = delete;
  na_class& operator=(const na_class&) = delete;

  /// One round of progress. The failure of a peer makes its addresses stale, and is no exception. Returns whether
  /// anything happened.
  bool progress() {
    if (!attended.load(std::memory_order_relaxed)) attended.store(true, std::memory_order_relaxed);
    return advance();
  }
  /// The same, for the thread that steps in where the program makes no progress.
  bool advance();
  /// A wait of the core has thrown this.
  void forget_failed(const lci::peer_failure_error& e);
  /// Puts the operation into its context's queue.
  void finish(na::operation* op, lci::status_t status);
  /// Takes an operation for a post of this context, and fills in what all have.
  na::operation* begin(na_context_t* context, na_cb_type_t type, na_cb_t callback, void* arg);
  /// Posts it. False: the core returns `retry`. Throws what posts throw, peer_failure_error also for a stale address.
  bool post(na::operation* op);
  /// Starts it: posts it now, or when the core takes it. On an exception it is the caller's again.
  void start(na::operation* op);
  /// The core has taken it, under this name; for operations whose `one_is_done` was false.
  void posted(na::operation* op, lci::operation_t name);
  /// Each of the posting thread and the thread that has run the callback calls this once; the second frees it.
  void done_with(na::operation* op);

  /// Calls `f`, which posts. The core refuses the id of a peer that has left as an invalid one: here it is the failure
  /// of a peer.
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
  const bool self_only;
  const na::identity who;
  std::string name;  // of this process, for others
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
  std::atomic<bool> attended{false};  // a thread of the program has made progress since `neglected` looked last

  // Whether a thread makes progress in the core and waits there. Other threads in NA_Progress() sleep until it leaves
  // and wakes one of them (progress.cpp).
  std::atomic<bool> led{false};
  std::mutex contexts_mutex;
  std::vector<na_context_t*> contexts;

 private:
  void open(const na::url& at, bool listen);
  void close();
  bool post_to(na::operation* op);
};

namespace na {

/// The largest message of either kind. A message of the core's takes a packet, so that posts end at once.
constexpr na_size_t max_message = 4096;

/// Whether the argument is a class that was not finalized. Reads freed memory for one that was: a C
/// program can't be warned otherwise.
inline bool valid(const na_class_t* c) { return c != nullptr && c->magic == na_class_t::alive; }

}  // namespace na
