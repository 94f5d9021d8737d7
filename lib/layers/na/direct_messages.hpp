// The implementation of direct.hpp for one class.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/na/addresses.hpp"
#include "lib/layers/na/direct.hpp"

struct na_class;
struct na_context;

namespace na {

/// Sends and receives direct messages as active messages of the core. Owned by the class. Thread-safe.
///
/// The core reports an orderly disconnect only to posted receives. So for each peer that has been called, a receive is
/// posted that no message matches; its end reports the disconnect. A call that is sent at the same time still fails:
/// the address becomes stale (G1) before the receiver searches for calls to the peer, and a sender checks the address
/// (G2) after it has recorded its call. These accesses, and the receiver's to its records, are sequentially consistent.
class direct_messages final : public lci::comp_impl_t {
 public:
  static constexpr uint32_t most_unanswered = 4096;

  explicit direct_messages(na_class& c);
  /// Registers with the class's runtime. Throws exceptions of the core.
  void open();
  void attach(na_context* context, direct_receiver* to);
  void detach();
  void signal(lci::status_t status) override;

  /// Returns false if there is no credit or the core returns `retry`. Throws lci::peer_failure_error.
  bool send(addr to, const void* buffer, size_t size, na_tag_t tag);
  /// Posts the receive that reports the peer's orderly disconnect, unless it is posted already.
  LCI_COLD void watch(addr to);
  /// Makes the peer's address stale and informs the receiver.
  void on_departure(na_addr_t value);

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
    std::atomic<uint32_t> unanswered{0};  // decreased under lock_
    std::atomic<uint32_t> watched{0};     // generation of the peer for which watch() has posted a receive
  };

  na_class& class_;
  departures departures_;
  std::unique_ptr<peer[]> peers_;
  lci::spinlock lock_;                   // held during calls of the receiver
  direct_receiver* receiver_ = nullptr;  // under lock_
  na_context* context_ = nullptr;        // under lock_
  std::vector<early> early_;             // under lock_: messages without a receiver
};

}  // namespace na
