// The state of CCS in this process, from CCS_init() to CCS_finalize().
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "lci.hpp"
#include "lib/layers/ccs/delayed.hpp"
#include "lib/layers/ccs/handlers.hpp"
#include "lib/layers/ccs/inbox.hpp"
#include "lib/layers/ccs/keys.hpp"
#include "lib/layers/ccs/known_shapes.hpp"
#include "lib/layers/ccs/memory_blocks.hpp"
#include "lib/layers/ccs/operation.hpp"
#include "lib/layers/ccs/registration.hpp"
#include "lib/layers/ccs/sending.hpp"
#include "lib/layers/ccs/slots.hpp"
#include "lib/layers/ccs/thread_state.hpp"
#include "lib/layers/ccs/wire.hpp"

namespace ccs {

/// The state for one process of the job; also for this process itself.
struct peer {
  inbox in;
  key_cache keys;
  foreign_shapes shapes;               // used only by handlers of the peer's messages, one at a time
  std::atomic<size_t> outstanding{0};  // operations on its memory that have not completed
  std::vector<std::unique_ptr<direct_operation>> waiting_for_key;  // under key_lock
  lci::spinlock key_lock;
};

/// The completion object of a remote completion handle: calls a function for each message.
class arrivals : public lci::comp_impl_t {
 public:
  using function = void (*)(class process& p, const lci::status_t& s);
  arrivals(process& p, function f) : process_(p), function_(f) { attr.am_in_place = true; }
  void signal(lci::status_t status) override { function_(process_, status); }

 private:
  process& process_;
  const function function_;
};

/// The state of CCS. One for each process; the first CCS_init() creates it, the last CCS_finalize() deletes it. Owns a
/// runtime with one device and two ordered streams: `ordered` for the program's active messages and other messages that
/// must not overtake them; `bulk` for the layer's own messages, i.e. requests to remote memory, their answers and data.
/// Thread-safe.
class process {
 public:
  process();
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  // --- the job, and the core's resources ---
  int rank = 0, size = 1;
  lci::runtime_t runtime;
  lci::packet_pool_t pool;
  lci::device_t device;
  lci::stream_t ordered, bulk;
  size_t packet_size = 0;  ///< bytes of a packet's payload
  lci::rcomp_t to_handlers = 0, to_ccs = 0;
  const uint64_t generation;

  // --- parts ---
  handler_table handlers;
  std::vector<peer> peers;
  due_callbacks due;
  std::unique_ptr<registration_table> memory;
  memory_blocks blocks;
  known_shapes shapes;
  slots<operation> operations;
  sending_list sendings;
  delayed_list delayed;
  std::atomic<size_t> receiving{0};  ///< number of large messages whose data is arriving
  lci::spinlock indexed_lock;        ///< guards the pointers that indexed puts advance

  // --- progress ---
  /// Makes progress. Runs queued handlers and callbacks if this thread may run them.
  void poll();
  /// Polls until done() returns true; sleeps if that takes long. Does not call done() after it has returned true, since
  /// a successful test resets a synchronizer.
  template <class Done>
  void wait_until(Done done) {
    for (unsigned round = 0; !done(); ++round) {
      poll();
      if (round <= spins) continue;
      if (done()) return;
      sleep(round);
    }
  }
  /// Starts an operation of the core with begin(done) and waits until `done` is signalled. Runs handlers and callbacks
  /// meanwhile.
  template <class Begin>
  void wait_for(Begin begin) {
    lci::comp_t done = lci::alloc_sync_x().runtime(runtime)();
    begin(done);
    wait_until([&] { return lci::sync_test(done, nullptr); });
    lci::free_comp(&done);
  }
  /// The calling thread's counts of messages.
  thread_counts& counts() {
    if (LCI_LIKELY(tls.generation == generation)) return *tls.counts;
    return make_counts();
  }
  struct totals {
    uint64_t sent = 0, handled = 0;
  };
  totals count_messages() const;
  /// Makes a later poll() handle the messages in the inbox of a node.
  void announce(int node);
  /// Collective. Waits until no message, transfer or callback is outstanding in the whole job.
  void become_quiet();

  // --- messages between processes' CCS ---
  /// Sends a short message. The core queues it if the network refuses it.
  void send(lci::stream_t stream, int node, wire::kind k, const void* body, size_t size);
  template <class T>
  void send(lci::stream_t stream, int node, wire::kind k, const T& body) {
    send(stream, node, k, &body, sizeof body);
  }
  /// Sends a message of any size and takes ownership of its memory.
  void send(lci::stream_t stream, int node, lci::rcomp_t to, lci::tag_t tag, std::unique_ptr<std::byte[]> body,
            size_t size);

  /// Counts the completion of `n` operations on a node's memory.
  void end_outstanding(int node) {
    peers[static_cast<size_t>(node)].outstanding.fetch_sub(1, std::memory_order_release);
  }
  void take_back(const registration_table::endings& ended);

 private:
  static constexpr unsigned spins = 4000;
  void sleep(unsigned round);
  thread_counts& make_counts();
  bool run_inboxes();
  bool has_work() const;

  std::unique_ptr<arrivals> handler_arrivals_, ccs_arrivals_;
  lci::comp_t never_;  // never signalled; a wait for it is a sleep that the network's messages end
  std::atomic<size_t> announced_{0};
  lci::spinlock announced_lock_;
  std::vector<int> announced_nodes_;
  std::atomic<thread_counts*> all_counts_{nullptr};
};

/// The state that functions with C linkage use; null outside of CCS_init() and CCS_finalize().
extern std::atomic<process*> the_process;

[[gnu::cold]] void refuse_without_process(const char* function) noexcept;
[[gnu::cold]] bool refuse_node(const process& p, const char* function, CCS_node_t node) noexcept;

/// Returns `the_process`. Prints a line and returns null if CCS is not initialized.
inline process* current(const char* function) {
  process* const p = the_process.load(std::memory_order_acquire);
  if (LCI_LIKELY(p != nullptr)) return p;
  refuse_without_process(function);
  return nullptr;
}

/// Whether the number is that of a node. Prints a line if not.
inline bool is_node(const process& p, const char* function, CCS_node_t node) {
  if (LCI_LIKELY(node < static_cast<CCS_node_t>(p.size))) return true;
  return refuse_node(p, function, node);
}

// Called by `arrivals` for each message. Defined in messages.cpp and services.cpp.
void receive_for_handlers(process& p, const lci::status_t& s);
void receive_for_ccs(process& p, const lci::status_t& s);
/// Runs the program's handler of a message.
void handle(process& p, int source, uint64_t tag, std::byte* data, size_t size);

}  // namespace ccs
