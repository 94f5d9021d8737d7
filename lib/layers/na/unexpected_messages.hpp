// The unexpected messages of a class.
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

/// Sends unexpected messages as active messages of the core, and completes receives with them: the oldest message goes
/// to the oldest receive. Owned by the class. Thread-safe.
///
/// They have their own flow control, so that they block neither expected messages nor those of HG. A receiver stores at
/// most `window` messages of a sender that no receive has matched. The sender counts its messages; the receiver reports
/// matched ones to the sender, many at a time. A sender whose window is full waits. A message is dropped only if the
/// receiver has no memory to store it: its progress then returns an error, and the message no longer counts. Messages
/// of peers that have left are still received, as long as there are at most `window`; then those of the peer that
/// leaves are dropped, so that processes which come and go without end need bounded memory.
class unexpected_messages final : public lci::comp_impl_t {
 public:
  static constexpr uint32_t window = 8192;  // messages
  /// When this many messages of a peer are stored, the peer has ignored the window, and is disconnected. A peer that
  /// respects the window may exceed it by one message for each of its threads.
  static constexpr uint32_t most_stored = window + 4096;

  explicit unexpected_messages(na_class& c);
  ~unexpected_messages() override;
  /// Registers with the class's runtime. Throws exceptions of the core.
  void open();
  void signal(lci::status_t status) override;

  /// Returns false if the window is full or the core returns `retry`. Throws lci::peer_failure_error.
  bool send(addr to, const void* buffer, size_t size, na_tag_t tag);
  /// Completes the operation with the oldest stored message, or queues it for the next message to arrive.
  void receive(operation* op);
  /// Removes the operation with this number from the queue of receives. Returns false if it is not there.
  bool remove(operation* op, na_op_id_t id);
  /// Resets the counts of an id that a new peer uses.
  void on_new_peer(uint32_t rank);
  /// The peer with this id and address has left, and the address is stale.
  void on_departure(uint32_t rank, na_addr_t value);
  /// Returns whether a report could not be sent.
  bool owes() const { return owes_.load(std::memory_order_seq_cst); }
  /// Sends the reports that could not be sent before.
  void report_some() {
    if (LCI_UNLIKELY(owes())) report_all();
  }

 private:
  struct message {
    message* next;
    na_addr_t source;
    na_tag_t tag;
    uint32_t size;
    char bytes[1];  // the first of `size` bytes
  };
  /// Null without memory.
  static message* copy_of(const lci::status_t& status, na_addr_t source);
  static void release(message* m);
  /// Receives the reports of peers.
  class reports final : public lci::comp_impl_t {
   public:
    explicit reports(unexpected_messages& m);
    void signal(lci::status_t status) override;

   private:
    unexpected_messages& messages_;
  };
  struct peer {
    std::atomic<uint32_t> here{0};   // messages sent to the peer that it has not reported as matched
    std::atomic<uint32_t> taken{0};  // messages of the peer that were matched and not yet reported to it
    uint32_t stored = 0;             // messages of the peer that no receive has matched; under lock_
  };
  /// Removes the messages from this address. The caller holds lock_, and releases them.
  message* remove_of(na_addr_t source);
  bool report(uint32_t rank);
  LCI_COLD void report_all();
  void note_taken(uint32_t rank);
  /// Notes that a report could not be sent.
  void owe();
  static void fill(operation* op, na_addr_t source, na_tag_t tag, const void* bytes, size_t size, uint32_t rank);

  na_class& class_;
  reports reports_;
  std::unique_ptr<peer[]> peers_;
  std::atomic<bool> owes_{false};  // a report could not be sent
  lci::spinlock lock_;
  message* first_ = nullptr;  // under lock_, as the members below; either messages or receives are queued, never both
  message* last_ = nullptr;
  uint32_t of_the_departed_ = 0;  // stored messages of peers that have left
  operation* first_receive_ = nullptr;
  operation* last_receive_ = nullptr;
};

}  // namespace na
