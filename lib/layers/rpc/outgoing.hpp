// Calls of peers' functions, and transfers, by this process.
#pragma once

#include <na.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lci/rpc.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/mercury/wire.hpp"

namespace lci::rpc::detail {

/// What of the public headers is a call.
class call {};

/// How a call ended.
enum class outcome : int {
  answered,  // by a response, whose code says more
  peer_failed,
  timed_out,
  cancelled,
  closed,
  damaged,    // a response of another protocol
  checksum,   // a response that was changed on its way
  no_memory,  // for the result
  too_large,  // the result
};

/// A call or a transfer under way. Owned by its engine's pool; in use while the program or an operation of the network
/// refers to it. The program uses it in one thread at a time; the network's callbacks run beside that.
///
/// Who takes `awaited_` decides how it ends, and publishes that by `state_`. A response that comes later has another
/// cookie than the call that uses the object then, and is ignored.
class outgoing final : public call {
 public:
  /// `number` is among the calls of the engine.
  outgoing(engine_core& e, uint32_t number);

  void begin(const remote_function* f, na_addr_t peer);
  span_of_chars room() { return {request_.get() + sizeof(mercury::request_header), request_room_}; }
  void post(writer& arguments, std::unique_ptr<kept> owned);
  /// Starts a transfer; the handles of memory are the call's from here on.
  void transfer(bool is_pull, std::shared_ptr<region> remote, size_t remote_offset, std::shared_ptr<region> local,
                size_t local_offset, size_t size);
  /// Returns whether it was the first.
  bool finish(outcome o) { return take(awaited_.load(std::memory_order_seq_cst), o); }
  /// A message to this call, or to an earlier one of this number, has arrived. Called inside progress, as the next one.
  void on_response(na_addr_t source, const void* data, size_t size);
  /// The call fails if that peer has not answered it yet.
  void on_departure(na_addr_t peer);
  /// Ends the call before its response.
  void give_up(outcome o);
  bool is_done() const { return state_.load(std::memory_order_acquire) == done_mark(); }  // pairs with D1
  bool notify(continuation& c);

  /// Of a complete call: throws unless it has a result.
  void check() const;
  const char* result_data() const {
    return parts_ != nullptr ? parts_.get() : response_.get() + sizeof(mercury::response_header);
  }
  size_t result_size() const { return result_size_; }
  const remote_function* function() const { return function_; }
  na_addr_t peer() const { return peer_; }

  /// Frees what is of the network; the engine is closing.
  void detach();

  /// False if the call is in the pool.
  bool ref_if_used() {
    uint32_t n = refs_.load(std::memory_order_seq_cst);
    while (n != 0)
      if (refs_.compare_exchange_weak(n, n + 1, std::memory_order_acquire)) return true;
    return false;
  }
  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void unref();
  /// Frees nothing inside progress.
  void unref_later();

  engine_core& owner;
  // Of the engine's timers, with their lock.
  std::atomic<bool> has_timer{false};
  std::multimap<int64_t, outgoing*>::iterator timer;

 private:
  static na_return_t on_sent(const na_cb_info* info);
  static na_return_t on_transferred(const na_cb_info* info);
  bool expose(writer& arguments, mercury::request_header& h);
  bool queue(size_t size);
  void read_response(na_addr_t source, const void* data, size_t size);
  void add_part(const mercury::response_header& h, const char* payload);
  /// Ends the call if its awaited cookie is still this one.
  bool take(uint64_t awaited, outcome o) {
    if (awaited == 0 || !awaited_.compare_exchange_strong(awaited, 0, std::memory_order_seq_cst)) return false;
    end(o);
    return true;
  }
  void end(outcome o);
  void cancel_send();  // with send_lock_
  void free();
  void hide_arguments();
  na_tag_t tag() const { return number_ << 1; }
  [[noreturn]] void throw_failure() const;
  static continuation* done_mark();
  std::string called() const;

  const uint32_t number_;
  const size_t request_room_;
  const std::unique_ptr<char[]> request_;
  const std::unique_ptr<char[]> response_;
  const remote_function* function_ = nullptr;  // null: a transfer
  na_addr_t peer_ = NA_ADDR_NULL;
  uint64_t cookie_;  // of the call, different for each

  // Arguments that did not fit.
  std::unique_ptr<char[]> extra_;
  std::unique_ptr<kept> owned_;
  na_mem_handle_t exposed_ = NA_MEM_HANDLE_NULL;
  // Of a transfer.
  std::shared_ptr<region> remote_, local_;

  // The result; written inside progress, by one thread at a time.
  int32_t code_ = 0;
  uint8_t flags_ = 0;
  size_t result_size_ = 0;
  std::unique_ptr<char[]> parts_;
  size_t parts_left_ = 0;

  lci::spinlock send_lock_;  // of these
  na_op_id_t queued_ = NA_OP_ID_NULL;
  bool is_queued_ = false;  // the sending waits for room

  outcome outcome_ = outcome::answered;
  std::atomic<uint64_t> awaited_{0};           // the cookie of the call that has not ended; 0: none
  std::atomic<continuation*> state_{nullptr};  // null, who wants to know, or done_mark()
  std::atomic<uint32_t> refs_{0};
  struct freeing : continuation {
    outgoing* call = nullptr;
  } freeing_;  // what unref_later() leaves
};

inline outgoing& of(call& c) { return static_cast<outgoing&>(c); }
inline const outgoing& of(const call& c) { return static_cast<const outgoing&>(c); }

}  // namespace lci::rpc::detail
