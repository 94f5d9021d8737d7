// Calls and bulk transfers that this process makes.
#pragma once

#include <na.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lci/rpc.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/mercury/wire.hpp"
#include "lib/layers/rpc/parts.hpp"

namespace lci::rpc::detail {

/// The type by which public headers refer to a call.
class call {};

/// How a call ended.
enum class outcome : int {
  answered,  // a response has come; its code says whether the call succeeded
  peer_failed,
  timed_out,
  cancelled,
  closed,
  damaged,    // a response of another protocol
  checksum,   // a response that was changed on its way
  no_memory,  // for the result
  too_large,  // the result
};

/// An outstanding call or bulk transfer. Owned by its engine's pool; in use while the program or an operation of the
/// network holds a reference. The program uses it in one thread at a time; callbacks of the network run concurrently.
///
/// A call ends once. The thread that sets `awaited_` to 0 ends it: it writes the result, then publishes it in `state_`.
/// Between the two, release() waits for that thread, so the call is not freed. A late response carries the cookie of a
/// call that has ended, and is ignored.
///
/// Threads release references under the lock of the pool, and a thread without a reference takes one under that lock.
/// So releasing the last reference needs no atomic read-modify-write.
class outgoing final : public call {
 public:
  /// `number`: index in the engine's array of calls.
  outgoing(engine_core& e, uint32_t number);

  void begin(const remote_function* f, na_addr_t peer);
  /// See engine_core::take_call_to_post().
  void begin_posting() { is_posting_.store(true, std::memory_order_relaxed); }
  void end_posting() { is_posting_.store(false, std::memory_order_release); }      // R2: pairs with A2
  bool is_posting() const { return is_posting_.load(std::memory_order_acquire); }  // A2
  span_of_chars room() { return {request_.get() + sizeof(mercury::request_header), request_room_}; }
  void post(writer& arguments, std::unique_ptr<kept> owned);
  /// Starts a bulk transfer. The call shares ownership of the regions until it ends.
  void transfer(bool is_pull, std::shared_ptr<region> remote, size_t remote_offset, std::shared_ptr<region> local,
                size_t local_offset, size_t size);
  /// Ends the call with this outcome. Returns false if it had ended before, or another thread is ending it.
  bool finish(outcome o) { return take(awaited_.load(std::memory_order_acquire), o); }
  /// Ends the call with this outcome unless it has ended. When this returns, the call is done.
  void end_with(outcome o) {
    if (LCI_UNLIKELY(!finish(o))) await_end();
  }
  /// For a call of this process to itself: copies the arguments, which do not fit in a message, to `to`. Returns false
  /// if the call with this cookie has ended, or has arguments of another size. While a thread copies, no other one
  /// releases the arguments: the copy would read memory that the program has freed.
  bool copy_arguments(uint64_t cookie, char* to, size_t size);
  /// Handles a response to this call, or to an earlier one with the same number. Called inside progress.
  void on_response(na_addr_t source, const void* data, size_t size);
  /// Ends the call as failed if it waits for a response of this peer. Called inside progress.
  void on_departure(na_addr_t peer);
  /// Ends the call before its response. When this returns, the call is done.
  void give_up(outcome o);
  bool is_done() const { return state_.load(std::memory_order_acquire) == &done_mark; }  // pairs with D1
  bool notify(continuation& c);
  /// Ensures that the continuation, which notify() has accepted, will not run. No thread may be running it.
  void withdraw(continuation& c);

  /// Throws unless the call, which must have ended, has a result.
  void check() const;
  const char* result_data() const {
    return parts_.any() ? parts_.data() : response_.get() + sizeof(mercury::response_header);
  }
  size_t result_size() const { return parts_.any() ? parts_.size() : result_size_; }
  const remote_function* function() const { return function_; }
  na_addr_t peer() const { return peer_; }

  /// Releases resources of the network, as the call has ended or the engine is closing. Any thread may call it, also
  /// while another one frees the call.
  void detach();

  /// Takes a reference. Returns false if the call is free, i.e. in the pool.
  bool ref_if_used();
  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void unref();
  /// Releases a reference; if it is the last, a later continuation frees the call, since progress must not.
  void unref_later();

  engine_core& owner;
  // Written under the lock of the engine's timers.
  std::atomic<bool> has_timer{false};
  std::multimap<int64_t, outgoing*>::iterator timer;

 private:
  static na_return_t on_sent(const na_cb_info* info);
  static na_return_t on_transferred(const na_cb_info* info);
  bool expose(writer& arguments, mercury::request_header& h);
  na_return_t queue(size_t size);
  void add_part(const char* payload, size_t size);
  /// Returns whether the call still awaited this cookie. If so, the caller must end() it.
  bool claim(uint64_t awaited);
  /// Ends the call with this outcome if it still awaits this cookie. Returns whether it did.
  bool take(uint64_t awaited, outcome o) {
    if (!claim(awaited)) return false;
    end(o);
    return true;
  }
  void end(outcome o);
  /// Waits until the thread that has claimed the call has ended it.
  LCI_COLD void await_end() const;
  void cancel_send();  // the caller holds send_lock_
  /// Prepares the object for the next call. The caller has released the last reference.
  void reset();
  LCI_COLD void free();
  void hide_arguments();  // the caller holds send_lock_
  na_tag_t tag() const { return number_ << 1; }
  [[noreturn]] void throw_failure() const;
  static inline constinit continuation done_mark{};
  std::string called() const;

  const uint32_t number_;
  const size_t request_room_;
  const std::unique_ptr<char[]> request_;
  const std::unique_ptr<char[]> response_;
  const remote_function* function_ = nullptr;  // null: a transfer
  na_addr_t peer_ = NA_ADDR_NULL;
  uint64_t cookie_;  // differs between the calls that use this object

  // Says whether there are parts, or any of the following members.
  bool holds_memory_ = false;
  // Arguments that do not fit in a message.
  std::unique_ptr<char[]> extra_;
  std::unique_ptr<kept> owned_;
  na_mem_handle_t exposed_ = NA_MEM_HANDLE_NULL;  // under send_lock_
  std::vector<na_segment> exposed_segments_;      // of a call to itself; constant while there is exposed_
  std::atomic<uint32_t> copies_{0};               // threads in copy_arguments(); grows under send_lock_
  // Of a transfer.
  std::shared_ptr<region> remote_, local_;

  // The result. Written by the thread that ends the call; parts, inside progress by one thread at a time.
  int32_t code_ = 0;
  uint8_t flags_ = 0;
  size_t result_size_ = 0;
  result_parts parts_;

  lci::spinlock send_lock_;  // guards exposed_ and the next two
  na_op_id_t queued_ = NA_OP_ID_NULL;
  bool is_queued_ = false;  // NA has queued the send

  outcome outcome_ = outcome::answered;
  std::atomic<uint64_t> awaited_{0};  // cookie of the call while it has not ended, else 0; set to 0 under the ends_lock
  std::atomic<na_addr_t> awaited_from_{NA_ADDR_NULL};
  // Written under the engine's ends_lock while the call is in use.
  std::atomic<continuation*> state_{nullptr};  // null, the continuation to run at the end, or done_mark()
  std::atomic<uint32_t> refs_{0};
  std::atomic<bool> is_posting_{false};
  struct freeing : continuation {
    outgoing* call = nullptr;
  } freeing_;  // queued by unref_later()
};

inline outgoing& of(call& c) { return static_cast<outgoing&>(c); }
inline const outgoing& of(const call& c) { return static_cast<const outgoing&>(c); }

}  // namespace lci::rpc::detail
