// The state of HG between HG_Init() and HG_Finalize().
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "lib/base/callback_scope.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/layers/mercury/call.hpp"
#include "lib/layers/mercury/functions.hpp"
#include "lib/layers/mercury/lane.hpp"
#include "lib/layers/mercury/pool.hpp"
#include "lib/layers/mercury/request.hpp"
#include "lib/layers/mercury/work_queue.hpp"
#include "lib/layers/na/direct.hpp"

namespace mercury {

/// The state of HG. One for each process, since Mercury's old interface has no object for it. Created by HG_Init(),
/// freed by HG_Finalize(), owned by `the_state`. Thread-safe.
class runtime final : private na::direct_receiver {
 public:
  explicit runtime(std::shared_ptr<lane> network);
  ~runtime();

  /// What is in use after drain().
  struct remainder {
    size_t answered = 0;        // calls whose handles the program has not freed
    size_t unanswered = 0;      // calls that the program has neither answered nor freed
    uint32_t operations = 0;    // of the network
    const char* function = "";  // of an unanswered call
    bool is_complete() const { return unanswered == 0 && operations == 0; }
  };
  /// Cancels this process's requests, and refuses calls that have arrived and are not executed yet. Then waits for the
  /// program's answers and for operations of the network, at most `long_ms`, and, when only handles of answered calls
  /// are in use, at most `short_ms` for the program to free them. Returns what is still in use.
  remainder drain(unsigned long_ms, unsigned short_ms);
  /// Invalidates the handles that the program has not freed. Their objects remain, as the program may still use them.
  void abandon_handles();

  /// Waits for a call to execute. Returns null after the limit, or when an entry is in the completion queue of `also`.
  call* next_call(unsigned timeout_ms, const callback_context* also = nullptr);
  /// Waits until the request completes. Returns whether it has.
  bool wait(request& r, unsigned timeout_ms);

  void arrived(call* c) { arrived_calls_.push(c); }
  bool has_calls() const { return !arrived_calls_.is_empty() || !local_calls.is_empty(); }
  void finished_local();
  /// Adds a call of this process to itself.
  void begin_local(call* c) {
    local_calls.push(c);
    wake();
  }
  /// Wakes the threads that wait: what one of them waits for may have happened without a message.
  void wake() {
    network->note_event();
    NA_Direct_wake(network->context());
  }
  uint64_t first_cookie() const { return first_cookie_; }
  /// Takes a request from the pool, which creates one if none is free.
  request* take_request();
  call* take_call() {
    return calls.take([this](size_t) { return std::make_unique<call>(*this); });
  }

  const std::shared_ptr<lane> network;
  const size_t largest_request;
  const size_t largest_response;
  fetch_budget fetched;  // for `calls`
  function_table functions;
  pool<request> requests;
  pool<call> calls;
  work_queue<call> local_calls;
  std::atomic<uint32_t> operations{0};  // operations of the network whose callbacks have not run

 private:
  remainder used() const;
  void on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) override;
  void on_departure(na_addr_t peer) override;

  work_queue<call> arrived_calls_;
  lci::mpmc_array<request*> by_number_;  // requests

  std::mutex local_lock_;  // for local_changed_
  std::condition_variable local_changed_;

  const uint64_t first_cookie_;
};

/// While an object of this class exists, its thread executes routines or callbacks, and uses the runtime afterwards.
using execution_scope = lci::callback_scope<runtime>;

/// The runtime. Prints a line and returns null if HG_Init() has not been called.
runtime* current(const char* function);

}  // namespace mercury
