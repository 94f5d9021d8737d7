// The origin's side of operations on memory of other hosts. All requests of one process to another are messages of one
// ordered stream, which the target applies in that order. The messages of puts and accumulates contain copies of their
// data, so these operations are locally complete when posted. Data of any layout is packed into as few messages as
// possible. A large get or put is done by RMA instead (`direct`) if it would not overtake an outstanding request. Later
// requests that change memory wait for direct gets to complete. A direct put is posted in order before later direct
// puts and requests, which need not wait for it, but direct gets and fences do. Over a network that does not order
// puts, a direct put returns when it is remotely complete.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "lib/layers/armci/calls.hpp"
#include "lib/layers/armci/far_memory.hpp"
#include "lib/layers/armci/layout.hpp"
#include "lib/layers/armci/link.hpp"
#include "lib/layers/armci/wire.hpp"

namespace armci_layer {

/// What an accumulate adds. The default: nothing, a put.
struct addition {
  addition() = default;
  addition(int of, const void* by) : adds(true), type(of), scale(by) {}

  bool adds = false;
  int type = 0;
  const void* scale = nullptr;
};

/// When a put returns.
struct put_return {
  bool early = false;              ///< perhaps before the source may be reused; false: afterwards
  request_state* state = nullptr;  ///< if early: has nothing pending once the source may be reused; may be null
};

/// Thread-safe. Functions throw `error`.
class remote {
 public:
  explicit remote(link& l);
  ~remote();

  /// Both layouts have the same size, which is not 0; `to` has addresses of proc.
  void put(const layout& from, const layout& to, int proc, addition what, put_return when = {});
  /// Segments: addresses `from` and `to`, n of them, of `bytes` bytes each.
  void put_list(void* const* from, void* const* to, size_t n, size_t bytes, int proc, addition what,
                put_return when = {});
  /// Returns whether a put of so many bytes, which may return early, can do so.
  bool may_return_early(size_t bytes) const;
  /// Complete when `state` (null: only the process's) has nothing pending.
  void get(const layout& from, const layout& to, int proc, request_state* state);
  void get_list(void* const* from, void* const* to, size_t n, size_t bytes, int proc, request_state* state);
  long rmw(int op, void* at, long operand, int proc);
  void fence(int proc);
  void fence_all();
  /// Memory of processes of other hosts, for RMA.
  far_memory& known() { return known_; }
  /// A request with nothing but an address, which needs no answer.
  void tell(wire::kind what, const void* address, int proc);
  /// Asks for the mutex at an address of `proc`: true if it is ours. `wait`: otherwise, wait for it.
  bool lock(const void* address, int proc, bool wait);

  void wait(request_state& state, int proc);
  bool is_complete(request_state& state) {
    if (state.pending.load(std::memory_order_acquire) == 0) return true;  // A1: pairs with R1 in call_table::end()
    link_.progress();
    return state.pending.load(std::memory_order_acquire) == 0;
  }
  /// Waits until all gets from a process, or (-1) from all, are complete, and the sources of all puts may be reused,
  /// those with handles, too. Returns 0, or the code of an operation that has failed.
  int wait_for_all(int proc);

  /// An answer has arrived.
  void receive_answer(int source, const std::byte* bytes, size_t size);
  void on_failure(int proc);

 private:
  struct process {
    /// Says whether puts or accumulates were sent since the last fence, or the last acknowledged one.
    std::atomic<bool> unfenced{false};
    request_state acknowledgements;  ///< of puts and accumulates that a fence will need
    /// Number of puts and accumulates since the last fence, and before it. Programs often repeat a pattern, so the
    /// second number predicts which operation precedes the next fence. Hints only.
    std::atomic<uint32_t> operations{0}, expected{0};
    /// Says whether this process has sent an unlock or a notification since the last fence that sent a message.
    std::atomic<bool> told{false};
    request_state gets;
    request_state direct_gets;  ///< those of `gets` that are done by RMA
    request_state direct_puts;
    std::atomic<size_t> requested{0};  ///< bytes of gets that were requested since `gets` was empty
  };
  /// A put or accumulate while it is sent, whose last message may ask for an acknowledgement. If it ends without one, a
  /// fence needs a message. Thread-bound.
  class sending;
  /// The completion object of direct gets and puts.
  class direct_end;
  packet begin(const wire::request& q, addition what);
  void post(packet&& p, int proc) { link_.send(proc, link::box::requests, std::move(p)); }
  /// Waits for this process's direct gets. Must precede each request that changes memory or permits other processes to
  /// change it, since such a request must not overtake a get.
  void wait_for_direct_gets(int proc);
  /// Starts a get by RMA. Returns false if RMA is impossible, or slower than messages.
  bool get_directly(const layout& from, const layout& to, int proc, request_state* state);
  /// Puts by RMA. Returns false if RMA is impossible, or slower than messages.
  bool put_directly(const layout& from, const layout& to, int proc, put_return when);
  /// The remote memory for an RMA transfer between these layouts; empty if RMA is impossible, or slower than messages.
  std::optional<far_memory::place> direct_place(const layout& far, const layout& here, int proc, size_t least_size);
  /// Waits if too many bytes of gets are under way from a process.
  void limit(int proc, size_t bytes);
  void begin_fence(int proc, request_state& state);
  /// Resets the failures of all processes' operations. Returns one of them, or 0: then a wait for one process has
  /// reported them.
  int take_failure(request_state process::*of);
  /// Waits for acknowledgements, and for direct puts.
  void wait_for_puts(int proc);

  link& link_;
  call_table calls_;
  request_state all_gets_, all_direct_puts_;
  std::unique_ptr<process[]> procs_;
  far_memory known_;
  const std::unique_ptr<direct_end> direct_end_;
};

/// Throws the error for the failure of a request, with a text that names `proc`, the process that got the request (-1:
/// not known).
[[noreturn, gnu::cold]] void throw_failure(int failure, int proc);

}  // namespace armci_layer
