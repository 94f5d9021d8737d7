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
#include "lib/layers/ccs/chain.hpp"
#include "lib/layers/ccs/delayed.hpp"
#include "lib/layers/ccs/due.hpp"
#include "lib/layers/ccs/handlers.hpp"
#include "lib/layers/ccs/inbox.hpp"
#include "lib/layers/ccs/keys.hpp"
#include "lib/layers/ccs/known_shapes.hpp"
#include "lib/layers/ccs/memory_blocks.hpp"
#include "lib/layers/ccs/misuse.hpp"
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
  foreign_shapes shapes;                    // used by handlers of its messages only, which run one after the other
  std::atomic<size_t> outstanding{0};       // operations on its memory that have not completed
  chain<direct_operation> waiting_for_key;  // under key_lock
  lci::spinlock key_lock;
};

/// Receives the messages to the program's handlers (messages.cpp). The core calls it for each. `context`: the process.
void arrive_for_handler(void* context, int rank, const void* data, size_t size, lci::tag_t tag);
/// The completion object of the remote completion handle for the layer's own messages (services.cpp). The core signals
/// it for each.
class service_arrivals final : public lci::comp_impl_t {
 public:
  explicit service_arrivals(class process& p) : process_(p) { attr.am_in_place = true; }
  void signal(lci::status_t status) override;

 private:
  process& process_;
};

/// The state of CCS. One for each process; the first CCS_init() creates it, the last CCS_finalize() deletes it. Owns a
/// runtime with one device and two ordered streams: `ordered` for the program's active messages and other messages that
/// must not overtake them; `bulk` for the layer's own messages, i.e. requests to remote memory, their answers and data.
/// Thread-safe.
class process {
 public:
  /// Throws if there is no memory and the job is this process. Ends any other job then.
  static process* make();
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
  static constexpr lci::rcomp_t no_rcomp = ~lci::rcomp_t{0};
  lci::rcomp_t to_handlers = no_rcomp, to_ccs = no_rcomp;
  const uint64_t generation;

  // --- parts ---
  handler_table handlers;
  std::vector<peer> peers;
  /// Number of inboxes that are not free. Incremented by the thread that has filled an empty one, and decremented by
  /// the one that has emptied it, which both precede the next message of that source: messages of a source arrive, and
  /// so reach its inbox or handler, one after the other. So a thread that reads 0 while it delivers a message knows
  /// that the source's inbox is free.
  std::atomic<size_t> busy_inboxes{0};
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
  /// Calls `begin`, which posts an operation of the core that signals `done`, and runs handlers and callbacks until
  /// then. If it throws for want of memory, nothing was posted.
  template <class Begin>
  void wait_for(Begin begin) {
    sync done(*this);
    begin(done.comp);
    // A process that is alone has completed already. Its program may wait for a handler by collectives.
    poll();
    wait_until([&] { return lci::sync_test(done.comp, nullptr); });
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
  /// Records that the inbox of a node, which was empty, has a message.
  void announce(int node) noexcept;
  /// Collective. Waits until no process has an outstanding message, transfer or callback. Ends the job if there is no
  /// memory.
  void become_quiet();

  // --- the layer's own messages; the core queues those that the network refuses. If there is no memory, send() throws
  // and has no effect ---
  /// Sends a short message.
  void send(lci::stream_t stream, int node, wire::kind k, const void* body, size_t size);
  template <class T>
  void send(lci::stream_t stream, int node, wire::kind k, const T& body) {
    send(stream, node, k, &body, sizeof body);
  }
  /// Sends a message of any size and takes ownership of its memory.
  void send(lci::stream_t stream, int node, lci::rcomp_t to, lci::tag_t tag, std::unique_ptr<std::byte[]> body,
            size_t size);
  /// Sends a short message for which another process waits, so it ends the job if there is no memory.
  template <class T>
  void answer(lci::stream_t stream, int node, wire::kind k, const T& body) noexcept {
    insist("a message", [&] { send(stream, node, k, &body, sizeof body); });
  }
  /// Frees the number and returns its operation; null if there is none.
  std::unique_ptr<operation> take_operation(uint64_t number) {
    std::unique_ptr<operation> op(operations.take(number));
    if (op != nullptr) op->number = 0;
    return op;
  }
  void take_back(const registration_table::endings& ended) noexcept;

 private:
  process();
  /// Owns a synchronizer.
  struct sync {
    explicit sync(const process& p) : comp(lci::alloc_sync_x().runtime(p.runtime)()) {}
    ~sync() {
      insist("a wait", [this] { lci::free_comp(&comp); });
    }
    sync(const sync&) = delete;
    sync& operator=(const sync&) = delete;
    lci::comp_t comp;
  };
  static constexpr unsigned spins = 4000;
  bool progress();
  void sleep(unsigned round);
  void allocate();
  void release() noexcept;
  thread_counts& make_counts();
  /// Runs the callbacks and handlers that wait, and continues messages that were not sent completely.
  LCI_NOINLINE void run_what_waits();
  void run_inboxes();
  /// Removes a node from the ring of announced nodes. Returns -1 if the ring is empty.
  int take_announced() noexcept;
  bool has_work() const;
  /// Waits until has_work() returns false. Prints a line if a handler of large messages keeps it waiting for long.
  void wait_for_own_work();
  /// Returns false if there is no delayed message.
  bool tell_of_delayed_message() const;

  lci::comp_t handler_arrivals_;
  std::unique_ptr<service_arrivals> service_arrivals_;
  lci::comp_t never_;  // never signalled; a thread that sleeps waits for it
  /// Nodes whose inboxes have messages: a ring with as many entries as nodes, since it contains each at most once.
  lci::spinlock announced_lock_;
  std::vector<int> announced_nodes_;
  size_t first_announced_ = 0;
  std::atomic<size_t> announced_{0};
  std::atomic<thread_counts*> all_counts_{nullptr};
};

/// The state that functions with C linkage use; null outside of CCS_init() and CCS_finalize().
extern std::atomic<process*> the_process;

[[gnu::cold]] void refuse_without_process(const char* function) noexcept;
[[gnu::cold]] bool refuse_node(const process& p, const char* function, const char* argument, CCS_node_t node) noexcept;

/// Returns `the_process`. Prints a line and returns null if CCS is not initialized.
inline process* current(const char* function) {
  process* const p = the_process.load(std::memory_order_acquire);
  if (LCI_LIKELY(p != nullptr)) return p;
  refuse_without_process(function);
  return nullptr;
}

/// Returns whether the number is that of a node. Prints a line if not.
inline bool is_node(const process& p, const char* function, CCS_node_t node, const char* argument = "node") {
  if (LCI_LIKELY(node < static_cast<CCS_node_t>(p.size))) return true;
  return refuse_node(p, function, argument, node);
}

/// Runs the program's handler of a message.
void handle(process& p, int source, uint64_t tag, std::byte* data, size_t size) noexcept;

}  // namespace ccs
