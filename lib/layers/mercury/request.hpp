// Calls that this process makes.
#pragma once

#include <mercury_callback.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/mercury/callback_context.hpp"
#include "lib/layers/mercury/functions.hpp"
#include "lib/layers/mercury/misuse.hpp"
#include "lib/layers/mercury/wire.hpp"

namespace mercury {

class runtime;

constexpr const char* of_another_class = "addr is no address of the class that HG_Init() was called with";

/// A call that this process makes: the implementation of hg_request_t, and of hg_handle_t at the origin. Owned by the
/// pool of its runtime; in use while the program, an operation of the network or a call in this process holds a
/// reference. One thread of the program at a time may use it. Callbacks of the network run concurrently, and publish
/// the result with `done_`.
class request : public object<0x6d757271> {
 public:
  /// `number`: index in the runtime's array of requests.
  request(runtime& r, uint32_t number);

  /// `is_self`: the destination is this process.
  void begin(na_addr_t destination, bool is_self, const function* f);
  void end();

  char* request_buffer() { return request_.get(); }
  char* response_buffer() { return response_.get(); }

  /// Encodes the arguments. If they don't fit in a message, exposes them as memory from which the peer fetches them.
  hg_return_t encode(void* in_struct);
  /// Sends the request, or queues the call for execution if its target is this process.
  hg_return_t send();
  /// Decodes the result into out_struct at the first call, and stores its address for free_decoded().
  hg_return_t decode(void* out_struct);
  void free_decoded();
  /// Decodes the result; the caller frees it.
  hg_return_t decode_again(void* out_struct);
  /// Handles a response. Ignores one to an earlier call that was cancelled. Called inside progress, in any thread.
  void on_response(na_addr_t source, const void* data, size_t size);
  /// Ends the call as failed if it waits for a response of this peer. Called inside progress, in any thread.
  void on_departure(na_addr_t peer);
  /// Handles the response of a call that this process executes itself.
  void deliver(const char* message, size_t size);
  /// Cancels the call. It completes when its operations of the network have completed.
  void cancel();

  bool is_done() const { return done_.load(std::memory_order_acquire); }  // A1: pairs with R1 in complete_one()
  bool is_begun() const { return is_begun_; }
  /// Returns false if the handle may make another call.
  void set_begun(bool begun) { is_begun_ = begun; }
  hg_return_t result() const { return static_cast<hg_return_t>(result_.load(std::memory_order_relaxed)); }
  bool is_local() const { return is_local_; }

  /// Makes functions refuse the handle, which the program has not freed although HG is finalized.
  void invalidate() {
    set_alive(false);
    if (context != nullptr) context->abandon();
    context = nullptr;
  }
  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  /// Releases a reference. The last release returns the request to its pool.
  void unref();

  runtime& owner;
  const uint32_t number;
  na_addr_t address = NA_ADDR_NULL;
  const function* called = nullptr;
  uint64_t cookie;       // differs between the calls that use this object
  void* out = nullptr;   // the program's structure for the result, from HG_Forward()
  size_t arguments = 0;  // bytes of encoded arguments
  char* arguments_at = nullptr;

  // Used by the callback model only.
  callback_context* context = nullptr;
  hg_cb_t callback = nullptr;
  void* argument = nullptr;

 private:
  static na_return_t on_sent(const na_cb_info* info);
  hg_return_t expose_arguments(request_header& h);
  /// Queues the request of the call with the cookie `mine`, for which NA has no room.
  void queue(uint64_t mine, size_t size);
  void hide_arguments();
  /// A response, a peer failure and a cancel may compete to end the call. The one for which this returns true ends it.
  bool take(uint64_t awaited) { return awaited_.compare_exchange_strong(awaited, 0, std::memory_order_seq_cst); }
  na_tag_t tag() const { return number << 1; }
  void finish(hg_return_t result);
  /// Counts the end of one part of the call: the answer, or the send if it was queued. The last one completes the call.
  void complete_one();

  static constexpr int undecided = INT_MIN;

  completion completed_{this, nullptr};
  const std::unique_ptr<char[]> request_;
  const std::unique_ptr<char[]> response_;
  size_t response_size_ = 0;  // bytes of the payload
  bool is_local_ = false;
  bool is_begun_ = false;
  bool is_decoded_ = false;
  void* decoded_ = nullptr;
  hg_return_t decode_result_ = HG_SUCCESS;
  void* extra_ = nullptr;  // encoded arguments that don't fit in a message
  na_mem_handle_t extra_handle_ = NA_MEM_HANDLE_NULL;

  std::atomic<uint32_t> refs_{0};
  std::atomic<uint32_t> pending_{0};  // parts of the call that have not ended: see complete_one()
  std::atomic<int> result_{undecided};
  std::atomic<bool> done_{false};
  // The cookie of the call if it waits for its answer, else 0. The thread that sets it to 0 by take() owns the response
  // buffer.
  std::atomic<uint64_t> awaited_{0};
  std::atomic<na_addr_t> awaited_from_{NA_ADDR_NULL};
  na_op_id_t queued_ = NA_OP_ID_NULL;  // the send, if NA has queued it
};

}  // namespace mercury
