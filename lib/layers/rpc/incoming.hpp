// Calls by peers that this process executes.
#pragma once

#include <na.h>

#include <atomic>
#include <memory>

#include "lci/rpc.hpp"
#include "lib/layers/mercury/argument_fetch.hpp"
#include "lib/layers/mercury/wire.hpp"

namespace lci::rpc::detail {

struct local_function;

/// A call from a peer, with a copy of its message. Owned by its engine's pool; in use while the program or an operation
/// of the network holds a reference. Used by one thread at a time.
class incoming {
 public:
  explicit incoming(engine_core& e);

  /// Copies the message of the call. Called inside progress.
  void arrive(na_addr_t from, na_tag_t tag, const void* data, size_t size);
  /// Decodes the header. Returns false if the call can't be executed and has been answered, or its arguments are being
  /// fetched from the caller; then the queue's reference has been released.
  bool accept();

  span_of_chars room() { return {output_.get() + sizeof(mercury::response_header), output_room_}; }
  void answer(writer& result);
  void answer_exception(const std::exception_ptr& thrown);
  void refuse(const std::exception_ptr& why);
  /// Answers with a failure code without a text.
  void answer_code(hg_return_t code);
  bool is_answered() const { return is_answered_; }

  /// Releases resources of the network, of which end_fetch() then has none: the engine is closing.
  void detach();

  /// Returns whether the call's peer has left: `peer`, which leaves now, or another one before. For work_queue.
  bool note_departure(na_addr_t peer) { return is_left_ |= source == peer; }
  bool has_fetched() const { return fetched_ != nullptr; }

  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void unref();

  engine_core& owner;
  incoming* next = nullptr;  // in a work_queue
  na_addr_t source = NA_ADDR_NULL;
  const local_function* called = nullptr;
  const char* arguments_at = nullptr;
  size_t arguments = 0;

 private:
  static na_return_t on_arguments(const na_cb_info* info);
  static na_return_t on_sent(const na_cb_info* info);
  /// Returns HG_SUCCESS, HG_TIMEOUT if the arguments are being fetched, or the code of a failure.
  hg_return_t read();
  hg_return_t fetch(const mercury::request_header& h);
  void end_fetch();
  bool has_other_signature(const mercury::request_header& h);
  void explain(hg_return_t code, const std::string& text);
  void send(hg_return_t code, uint8_t flags, size_t payload);

  const size_t output_room_;
  mercury::argument_fetch fetch_;
  const std::unique_ptr<char[]> input_;
  const std::unique_ptr<char[]> output_;
  na_tag_t tag_ = 0;
  size_t size_ = 0;  // of the message
  uint64_t cookie_ = 0;
  bool takes_parts_ = false;
  bool is_typed_ = false;  // the caller has sent a signature
  bool is_answered_ = false;
  bool is_left_ = false;  // the caller has left while the call was in a queue
  std::unique_ptr<char[]> fetched_;
  std::atomic<uint32_t> refs_{0};
};

}  // namespace lci::rpc::detail
