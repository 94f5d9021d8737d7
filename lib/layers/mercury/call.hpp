// Calls that this process executes for its peers, or for itself.
#pragma once

#include <mercury_callback.h>

#include <atomic>
#include <memory>

#include "lib/layers/mercury/argument_fetch.hpp"
#include "lib/layers/mercury/callback_context.hpp"
#include "lib/layers/mercury/functions.hpp"
#include "lib/layers/mercury/misuse.hpp"
#include "lib/layers/mercury/wire.hpp"

namespace mercury {

class runtime;
class request;

/// A call to execute, with a copy of its message: the implementation of hg_handle_t at the target. Owned by the pool of
/// its runtime; in use while the program or an operation of the network holds a reference. Used by one thread at a
/// time: progress pushes it to a queue of the runtime, from which a thread of the program takes it.
class call : public object<0x6d756861> {
 public:
  explicit call(runtime& r);

  /// Copies the message of the call. Returns false if it is larger than any valid call.
  bool arrive(na_addr_t from, na_tag_t tag, const void* data, size_t size);
  /// Decodes the header. Returns HG_SUCCESS if the call can be executed; HG_TIMEOUT if its arguments are being fetched,
  /// after which it is queued again; another code if it can't be executed and has been answered with that code. Does
  /// not release the reference of the thread that calls accept().
  hg_return_t accept();
  /// Initializes the call of a function in this process; the arguments are in the request's buffer.
  void begin_local(request* caller);

  /// Decodes the arguments.
  hg_return_t input(void* in_struct);
  /// Encodes the result and sends it; sends HG_SIZE_ERROR instead if it is too large.
  hg_return_t answer(void* out_struct);
  hg_return_t answer_error(hg_return_t result);
  /// Sends `size` bytes of the output buffer as the result.
  hg_return_t answer_raw(size_t size);
  bool is_answered() const { return is_answered_.load(std::memory_order_acquire); }
  /// Returns whether the program or an operation of the network holds a reference.
  bool is_used() const { return refs_.load(std::memory_order_acquire) != 0; }
  /// Makes functions refuse the handle, which the program has not freed although HG is finalized.
  void invalidate() {
    set_alive(false);
    if (context != nullptr) context->abandon();
    context = nullptr;
  }
  /// Sets the context whose completion queue gets the end of the answer. The context must not end before leave().
  void enter(callback_context* c) {
    leave();
    context = c;
    c->answers.fetch_add(1, std::memory_order_relaxed);
  }
  /// Called when the callback has run, or will not run.
  void leave() {
    if (context == nullptr) return;
    context->answers.fetch_sub(1, std::memory_order_release);
    context = nullptr;
    callback = nullptr;
  }

  char* output() { return output_.get() + sizeof(response_header); }
  size_t output_size() const;

  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void unref();

  runtime& owner;
  na_addr_t source = NA_ADDR_NULL;  // owned, unless the call is local
  const function* called = nullptr;
  const char* arguments_at = nullptr;
  size_t arguments = 0;

  call* next = nullptr;  // in a queue
  /// Returns whether the call's peer has left: `peer`, which leaves now, or another one before. For work_queue.
  bool note_departure(na_addr_t peer) { return is_left_ |= source == peer; }
  bool has_fetched() const { return extra_ != nullptr; }

  // Callback model: the context and the callback of HG_Respond(), which run when the answer has been sent.
  callback_context* context = nullptr;
  hg_cb_t callback = nullptr;
  void* argument = nullptr;

 private:
  static na_return_t on_arguments(const na_cb_info* info);
  static na_return_t on_sent(const na_cb_info* info);
  hg_return_t open_request();
  hg_return_t fetch(const request_header& h);
  hg_return_t send(hg_return_t result, size_t payload);
  void sent(hg_return_t result);

  completion completed_{nullptr, this};
  argument_fetch fetch_;
  const std::unique_ptr<char[]> input_;
  const std::unique_ptr<char[]> output_;
  na_tag_t tag_ = 0;
  uint64_t cookie_ = 0;
  request* caller_ = nullptr;             // the request, if it is a call of this process
  std::atomic<bool> is_answered_{false};  // and the answer has been passed to NA; HG_Finalize() reads it
  bool is_accepted_ = false;
  bool is_left_ = false;   // the caller has left while the call was in a queue
  size_t size_ = 0;        // bytes of the message
  void* extra_ = nullptr;  // arguments that were fetched from the caller's memory
  std::atomic<uint32_t> refs_{0};
};

}  // namespace mercury
