// What HG_Init() makes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/mercury/call.hpp"
#include "lib/layers/mercury/functions.hpp"
#include "lib/layers/mercury/lane.hpp"
#include "lib/layers/mercury/pool.hpp"
#include "lib/layers/mercury/request.hpp"
#include "lib/layers/na/direct.hpp"

namespace mercury {

/// Calls that wait for a thread that executes them. Thread-safe.
class call_queue {
 public:
  void push(call* c) {
    c->next = nullptr;
    std::lock_guard guard(lock_);
    (first_ == nullptr ? first_ : last_->next) = c;
    last_ = c;
    is_empty_.store(false, std::memory_order_release);
  }
  call* pop() {
    if (is_empty()) return nullptr;
    std::lock_guard guard(lock_);
    call* const c = first_;
    if (c == nullptr) return nullptr;
    first_ = c->next;
    if (first_ == nullptr) is_empty_.store(true, std::memory_order_release);
    return c;
  }
  bool is_empty() const { return is_empty_.load(std::memory_order_acquire); }

 private:
  lci::spinlock lock_;
  call* first_ = nullptr;
  call* last_ = nullptr;
  std::atomic<bool> is_empty_{true};  // so that looking needs no lock
};

/// The state of HG in a process: the old interface has one. Made by HG_Init(), freed by HG_Finalize(); between them
/// thread-safe.
class runtime final : private na::direct_receiver {
 public:
  explicit runtime(std::shared_ptr<lane> network);
  ~runtime();

  /// Waits until nothing is under way, or the limit. False if handles or requests are still in use then.
  bool drain(unsigned timeout_ms);

  /// The next call to execute; null if there is none within the limit, or if a call has completed in the context.
  call* next_call(unsigned timeout_ms, const callback_context* also = nullptr);
  /// Waits for a request.
  bool wait(request& r, unsigned timeout_ms);

  void arrived(call* c) { arrived_calls_.push(c); }
  bool has_calls() const { return !arrived_calls_.is_empty() || !local_calls.is_empty(); }
  void finished_local();
  uint64_t first_cookie() const { return first_cookie_; }
  /// A free request, or a new one.
  request* take_request();
  call* take_call() {
    return calls.take([this](size_t) { return std::make_unique<call>(*this); });
  }

  const std::shared_ptr<lane> network;
  const size_t largest_request;
  const size_t largest_response;
  function_table functions;
  pool<request> requests;
  pool<call> calls;
  call_queue local_calls;
  std::atomic<uint32_t> operations{0};  // of the network, whose callbacks have not run

 private:
  void on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) override;
  void on_departure(na_addr_t peer) override;
  /// Answers a call that there is no memory for.
  void refuse(na_addr_t source, na_tag_t tag);

  call_queue arrived_calls_;
  lci::mpmc_array<request*> by_number_;  // requests

  std::mutex local_lock_;  // of local_changed_
  std::condition_variable local_changed_;

  const uint64_t first_cookie_;
};

/// The runtime; null, and a line on standard error, outside of HG_Init() and HG_Finalize().
runtime* current(const char* function);

}  // namespace mercury
