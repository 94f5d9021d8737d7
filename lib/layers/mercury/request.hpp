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
  explicit request(runtime& r);

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
  na_addr_t address = NA_ADDR_NULL;
  const function* called = nullptr;
  uint64_t cookie = 0;
  void* out = nullptr;   // of HG_Forward(), the program's
  size_t arguments = 0;  // bytes of encoded arguments
  char* arguments_at = nullptr;

  // Of the callback model.
  callback_context* context = nullptr;
  hg_cb_t callback = nullptr;
  void* argument = nullptr;

 private:
  static na_return_t on_sent(const na_cb_info* info);
  static na_return_t on_response(const na_cb_info* info);
  hg_return_t expose_arguments(request_header& h);
  hg_return_t post_receive();
  void cancel_receive();
  void sent(bool is_well);
  bool received(na_return_t result);
  void hide_arguments();
  /// The first caller decides how the call ends.
  void decide(hg_return_t result);
  bool is_decided() const { return result_.load(std::memory_order_relaxed) != undecided; }
  /// One of the operations that the call consists of has completed.
  void complete_one();

  static constexpr int undecided = INT_MIN;

  const std::unique_ptr<char[]> request_;
  const std::unique_ptr<char[]> response_;
  size_t response_size_ = 0;  // of the payload
  na_tag_t tag_ = 0;
  bool is_local_ = false;
  bool is_begun_ = false;
  bool is_decoded_ = false;
  void* decoded_ = nullptr;
  hg_return_t decode_result_ = HG_SUCCESS;
  void* extra_ = nullptr;  // encoded arguments that don't fit in a message
  na_mem_handle_t extra_handle_ = NA_MEM_HANDLE_NULL;

  std::atomic<uint32_t> refs_{0};
  std::atomic<uint32_t> pending_{0};  // operations of the call
  std::atomic<int> result_{undecided};
  std::atomic<bool> done_{false};

  lci::spinlock receive_lock_;  // so that no operation is cancelled that has completed
  bool receives_ = false;
  na_op_id_t receive_ = NA_OP_ID_NULL;
};

}  // namespace mercury
