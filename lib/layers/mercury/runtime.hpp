// What HG_Init() makes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/layers/mercury/call.hpp"
#include "lib/layers/mercury/functions.hpp"
#include "lib/layers/mercury/lane.hpp"
#include "lib/layers/mercury/pool.hpp"
#include "lib/layers/mercury/request.hpp"

namespace mercury {

/// Calls that wait for a thread that executes them. Thread-safe.
class call_queue {
 public:
  void push(call* c) {
    std::lock_guard guard(lock_);
    calls_.push_back(c);
    size_.store(calls_.size(), std::memory_order_release);
  }
  call* pop() {
    if (is_empty()) return nullptr;
    std::lock_guard guard(lock_);
    if (calls_.empty()) return nullptr;
    call* c = calls_.front();
    calls_.pop_front();
    size_.store(calls_.size(), std::memory_order_release);
    return c;
  }
  bool is_empty() const { return size_.load(std::memory_order_acquire) == 0; }
  size_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  lci::spinlock lock_;
  std::deque<call*> calls_;
  std::atomic<size_t> size_{0};  // of calls_, so that looking needs no lock
};

/// The state of HG in a process: the old interface has one. Made by HG_Init(), freed by HG_Finalize(); between them
/// thread-safe.
class runtime {
 public:
  explicit runtime(std::shared_ptr<lane> network);

  /// Receives calls from now on. Calls of others wait in the network before.
  void listen();
  /// Waits until nothing is under way, or the limit. False if handles or requests are still in use then.
  bool drain(unsigned timeout_ms);

  /// The next call to execute; null if there is none within the limit, or if a call has completed in the context.
  call* next_call(unsigned timeout_ms, const callback_context* also = nullptr);
  /// Waits for a request.
  bool wait(request& r, unsigned timeout_ms);

  void arrived(call* c) { arrived_calls_.push(c); }
  bool has_calls() const { return !arrived_calls_.is_empty() || !local_calls.is_empty(); }
  /// Takes a call from those that wait for the network.
  void not_posted(call* c);
  /// Posts empty calls, unless many have arrived already: further ones wait in the network then, whose credits stop
  /// their senders.
  void refill();
  void finished_local();
  na_tag_t next_tag() { return tags_.fetch_add(1, std::memory_order_relaxed) & largest_tag_; }
  uint64_t next_cookie() { return cookies_.fetch_add(1, std::memory_order_relaxed); }

  const std::shared_ptr<lane> network;
  const size_t largest_request;
  const size_t largest_response;
  function_table functions;
  pool<request> requests;
  pool<call> calls;
  call_queue local_calls;
  std::atomic<uint32_t> operations{0};  // of the network, whose callbacks have not run

 private:
  call_queue arrived_calls_;
  std::atomic<bool> listens_{false};
  std::atomic<bool> was_full_{false};  // fewer calls are posted than could be, as too many had arrived
  std::mutex posted_lock_;
  std::vector<call*> posted_;  // that wait for a call from the network

  std::mutex local_lock_;  // of local_changed_
  std::condition_variable local_changed_;

  const na_tag_t largest_tag_;
  std::atomic<na_tag_t> tags_{0};
  std::atomic<uint64_t> cookies_;
};

/// The runtime; null, and a line on standard error, outside of HG_Init() and HG_Finalize().
runtime* current(const char* function);

}  // namespace mercury
