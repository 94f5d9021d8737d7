// The implementation of direct.hpp for one class.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci.hpp"
#include "lib/base/own_counter.hpp"
#include "lib/concurrent/biased_lock.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/na/addresses.hpp"
#include "lib/layers/na/direct.hpp"

struct na_class;
struct na_context;

namespace na {

/// Sends and receives direct messages as active messages of the core. Owned by the class. Thread-safe.
///
/// The core reports an orderly disconnect only to posted receives. So for each peer a receive is posted that no message
/// matches, before the peer's address is given to the program; its end reports the disconnect. A call that is sent at
/// the same time still fails: the address becomes stale (G1) before the receiver searches for calls to the peer, and a
/// sender checks the address (G2) after it has recorded its call. Between the two, each thread takes calls_lock_ (U1,
/// U2), so the later one sees what the earlier one has written: the receiver needs no order of its own for its records.
///
/// Both sides count a peer's unanswered calls. The sender counts a call before it posts it, and an answer when it
/// arrives. The receiver counts a call when it arrives, and its answer before it posts it, so its number never exceeds
/// the sender's. So a peer with more unanswered calls than this class accepts has ignored the bound; it is
/// disconnected.
class direct_messages {
 public:
  explicit direct_messages(na_class& c);
  /// Registers with the class's runtime. Throws exceptions of the core.
  void open();
  /// Frees what open() has allocated. The class's device must have been freed.
  void close();
  void attach(na_context* context, direct_receiver* to);
  void detach();

  /// Resets the counts of an id that a new peer uses, which accepts `most_calls` unanswered calls.
  void on_new_peer(uint32_t rank, uint32_t most_calls);
  /// Sends a message if the core can take it at once. Returns NA_SUCCESS, NA_TIMEOUT if nothing was sent, or
  /// NA_PROTOCOL_ERROR if the peer has left meanwhile.
  na_return_t try_send(addr to, const void* buffer, size_t size, na_tag_t tag);
  /// Returns false if there is no credit or no memory, or the core returns `retry`. Throws lci::peer_failure_error.
  bool send(addr to, const void* buffer, size_t size, na_tag_t tag);
  /// Posts the receive that reports the peer's orderly disconnect, unless it is posted already. Returns false if there
  /// is no memory, or the core returns `retry`. Throws lci::peer_failure_error.
  LCI_COLD bool watch(addr to);
  /// Makes the peer's address stale and informs the receiver.
  void on_departure(na_addr_t value);

  /// Stores an answer that progress sends. If too many are stored, ends the connection with the peer instead.
  void owe(addr to, na_tag_t tag, const void* bytes, size_t size);
  /// Ends the connection with a peer whose call can be neither executed nor refused, or which has failed. Done by a
  /// later pay_some(), as it may need memory.
  void end(addr peer);
  /// Returns whether answers are stored, or connections are to be ended.
  bool owes() const { return owes_.load(std::memory_order_seq_cst); }
  /// Sends and ends what it can.
  void pay_some() {
    if (LCI_UNLIKELY(owes())) pay();
  }

 private:
  struct early {
    na_addr_t source;
    na_tag_t tag;
    std::vector<char> bytes;
  };
  /// Signalled when the receive that watch() has posted ends; its user_context is the peer's address.
  class departures final : public lci::comp_impl_t {
   public:
    explicit departures(direct_messages& m);
    void signal(lci::status_t status) override;

   private:
    direct_messages& messages_;
  };
  struct peer {
    // Calls that were sent, written under calls_lock_, and those of them that have been answered, written under lock_.
    std::atomic<uint32_t> sent{0};
    std::atomic<uint32_t> answered{0};
    std::atomic<uint32_t> most{1};  // unanswered calls that the peer accepts
    // Calls of the peer that have arrived, written under lock_, and those of them that have been answered: by the
    // answerer, and by other threads.
    std::atomic<uint32_t> arrived{0};
    std::atomic<uint32_t> replied_by_others{0};
    std::atomic<uint64_t> replied_here{0};
    std::atomic<uint32_t> watched{0};  // generation of the peer for which watch() has posted a receive
    // is_to_end, and the generation of the peer whose connection is to be ended; 0: none
    static constexpr uint64_t is_to_end = uint64_t{1} << 32;
    std::atomic<uint64_t> to_end{0};

    uint32_t replied() const {
      return static_cast<uint32_t>(replied_here.load(std::memory_order_relaxed)) +
             replied_by_others.load(std::memory_order_relaxed);
    }
    /// An answer has arrived, or the call could not be sent. The caller holds lock_.
    void count_answer() {
      const uint32_t n = answered.load(std::memory_order_relaxed);
      if (LCI_LIKELY(n != sent.load(std::memory_order_relaxed))) answered.store(n + 1, std::memory_order_relaxed);
    }
  };
  struct owed {
    addr to;
    na_tag_t tag = 0;
    const void* bytes = nullptr;
    size_t size = 0;
  };
  static constexpr size_t most_owed = 64;  // answers

  /// The handler of active messages. A function, which the core calls at less cost than a completion object.
  static void on_message(void* self, int rank, const void* data, size_t size, lci::tag_t tag);
  void receive(na_addr_t source, uint32_t rank, na_tag_t tag, const void* data, size_t size);
  /// Counts a message that is about to be sent. Returns false if it is a call for which there is no credit.
  bool count_sent(peer& p, na_tag_t tag);
  /// Counts a message that could not be sent as not sent.
  LCI_COLD void revoke(peer& p, na_tag_t tag);
  /// Returns whether the calling thread is the answerer.
  bool is_answerer() {
    const uintptr_t me = lci::process_barrier::this_thread(), it = answerer_.load(std::memory_order_relaxed);
    return LCI_LIKELY(it == me) || (it == 0 && becomes_answerer(me));
  }
  LCI_COLD bool becomes_answerer(uintptr_t me);
  LCI_COLD void refuse_call(uint32_t rank);
  LCI_COLD void pay();
  bool pay_oldest();
  void end_now(uint32_t rank);
  void note_debt();

  na_class& class_;
  lci::comp_t handler_;  // of on_message()
  const int32_t most_;   // unanswered calls of each peer
  departures departures_;
  std::unique_ptr<peer[]> peers_;
  lci::biased_lock calls_lock_;          // no other lock is taken under it
  lci::biased_lock lock_;                // held during calls of the receiver
  direct_receiver* receiver_ = nullptr;  // under lock_
  na_context* context_ = nullptr;        // under lock_
  std::vector<early> early_;             // under lock_: messages without a receiver
  // One thread sends nearly all answers, and counts them without a read-modify-write: the first that sends two in a
  // row.
  std::atomic<uintptr_t> answerer_{0}, last_answerer_{0};  // their marks

  std::atomic<bool> owes_{false};
  lci::spinlock owed_lock_;           // no other lock is taken under it
  std::array<owed, most_owed> owed_;  // under owed_lock_, as n_owed_
  size_t n_owed_ = 0;
};

}  // namespace na
