// Calls that this process makes.
#pragma once

#include <mercury_callback.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/mercury/functions.hpp"
#include "lib/layers/mercury/misuse.hpp"
#include "lib/layers/mercury/wire.hpp"

namespace mercury {

class runtime;
struct callback_context;

/// A call under way. Owned by the pool of its runtime; in use while the program, an operation of the network or the
/// execution in this process refers to it. The program's threads use it one at a time; the callbacks of the network
/// use it beside them, and hand over the result by `done`.
class request : public object<0x6d757271> {
 public:
  /// `number` is among the requests of the runtime.
  request(runtime& r, uint32_t number);

  void begin(na_addr_t destination, const function* f);
  void end();

  char* request_buffer() { return request_.get(); }
  char* response_buffer() { return response_.get(); }

  /// Encodes the arguments, into memory that the peer fetches them from if they don't fit in a message.
  hg_return_t encode(void* in_struct);
  /// Starts the operations of the network, or queues the execution in this process.
  hg_return_t send();
  /// Decodes the result, once, and remembers where, for free_decoded().
  hg_return_t decode(void* out_struct);
  void free_decoded();
  /// Decodes the result; the caller frees it.
  hg_return_t decode_again(void* out_struct);
  /// A message to this request has arrived; that of an abandoned call is ignored. Called in progress, by any thread.
  void on_response(na_addr_t source, const void* data, size_t size);
  /// The call fails if that peer has not answered it yet. Likewise.
  void on_departure(na_addr_t peer);
  /// The response to a call in this process.
  void deliver(const char* message, size_t size);
  /// Ends the call, which completes when the operations of the network have.
  void cancel();

  bool is_done() const { return done_.load(std::memory_order_acquire); }  // A1: pairs with R1 in complete_one()
  bool is_begun() const { return is_begun_; }
  /// The handle may make another call.
  void set_begun(bool begun) { is_begun_ = begun; }
  hg_return_t result() const { return static_cast<hg_return_t>(result_.load(std::memory_order_relaxed)); }
  bool is_local() const { return is_local_; }

  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  /// The last one returns the request to its pool.
  void unref();

  runtime& owner;
  const uint32_t number;
  na_addr_t address = NA_ADDR_NULL;
  const function* called = nullptr;
  uint64_t cookie;       // of the call, different for each
  void* out = nullptr;   // of HG_Forward(), the program's
  size_t arguments = 0;  // bytes of encoded arguments
  char* arguments_at = nullptr;

  // Of the callback model.
  callback_context* context = nullptr;
  hg_cb_t callback = nullptr;
  void* argument = nullptr;

 private:
  static na_return_t on_sent(const na_cb_info* info);
  hg_return_t expose_arguments(request_header& h);
  void queue(size_t size);
  void hide_arguments();
  /// Whoever gets true completes the call: of the response, the peer's end, and who cancels.
  bool take(uint64_t awaited) { return awaited_.compare_exchange_strong(awaited, 0, std::memory_order_seq_cst); }
  na_tag_t tag() const { return number << 1; }
  void finish(hg_return_t result);
  /// One of the things that the call consists of has ended: its answer, and its sending if that was queued.
  void complete_one();

  static constexpr int undecided = INT_MIN;

  const std::unique_ptr<char[]> request_;
  const std::unique_ptr<char[]> response_;
  size_t response_size_ = 0;  // of the payload
  bool is_local_ = false;
  bool is_begun_ = false;
  bool is_decoded_ = false;
  void* decoded_ = nullptr;
  hg_return_t decode_result_ = HG_SUCCESS;
  void* extra_ = nullptr;  // encoded arguments that don't fit in a message
  na_mem_handle_t extra_handle_ = NA_MEM_HANDLE_NULL;

  std::atomic<uint32_t> refs_{0};
  std::atomic<uint32_t> pending_{0};  // see complete_one()
  std::atomic<int> result_{undecided};
  std::atomic<bool> done_{false};
  // The cookie of the call whose answer has not come, with where it comes from; 0: none. Together with the response's
  // buffer it belongs to whoever takes it.
  std::atomic<uint64_t> awaited_{0};
  std::atomic<na_addr_t> awaited_from_{NA_ADDR_NULL};
  na_op_id_t queued_ = NA_OP_ID_NULL;  // the sending that waits for room
};

}  // namespace mercury
