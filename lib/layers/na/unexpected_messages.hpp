// Unexpected messages of a class.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/na/addresses.hpp"
#include "lib/layers/na/operation.hpp"

struct na_class;

namespace na {

/// Active messages of the core, in order of arrival, for receives in order of their posts. Thread-safe.
///
/// They have a flow control of their own, so that they stop neither expected messages nor those of HG: at most `window`
/// messages of a sender are here that no receive has taken. The sender counts what it sends, and the receiver says when
/// it has taken a part of them, which is little traffic. So senders are stopped, and nothing is dropped.
class unexpected_messages final : public lci::comp_impl_t {
 public:
  static constexpr uint32_t window = 8192;  // messages

  explicit unexpected_messages(na_class& c);
  ~unexpected_messages() override;
  /// Throws what the core throws.
  void open();
  void signal(lci::status_t status) override;

  /// False: not now. Throws lci::peer_failure_error.
  bool send(addr to, const void* buffer, size_t size, na_tag_t tag);
  /// Completes the operation by the oldest message, or by one that comes.
  void receive(operation* op);
  /// Takes the operation of this number back. False: it is not among those that wait.
  bool remove(operation* op, na_op_id_t id);
  /// The peer with this id is another one from now on, or none.
  void on_new_peer(uint32_t rank);
  /// Says what has been taken, where that was not possible before.
  void report_some() {
    if (LCI_UNLIKELY(owes_.load(std::memory_order_relaxed))) report_all();
  }

 private:
  struct message {
    message* next;
    na_addr_t source;
    na_tag_t tag;
    uint32_t size;
    char bytes[1];  // `size`
  };
  /// Gets what peers have taken.
  class reports final : public lci::comp_impl_t {
   public:
    explicit reports(unexpected_messages& m);
    void signal(lci::status_t status) override;

   private:
    unexpected_messages& messages_;
  };
  struct peer {
    std::atomic<uint32_t> here{0};   // messages sent to it that it has not reported as taken
    std::atomic<uint32_t> taken{0};  // of its messages, not reported yet
  };
  bool report(uint32_t rank);
  LCI_COLD void report_all();
  void note_taken(uint32_t rank);
  static void fill(operation* op, na_addr_t source, na_tag_t tag, const void* bytes, size_t size, uint32_t rank);

  na_class& class_;
  reports reports_;
  std::unique_ptr<peer[]> peers_;
  std::atomic<bool> owes_{false};  // a report could not be sent
  lci::spinlock lock_;
  message* first_ = nullptr;  // under lock_, like the rest; if there are messages, no receive waits
  message* last_ = nullptr;
  operation* first_receive_ = nullptr;
  operation* last_receive_ = nullptr;
};

}  // namespace na
