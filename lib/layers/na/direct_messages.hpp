// The messages of direct.hpp, of one class.
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

/// Active messages of the core, which hands them over where they have arrived. Thread-safe.
///
/// That a peer has left politely is noticed by receives only: one that no message meets is posted for each peer that
/// has been called. A call that is sent at that moment is not lost: the peer's address becomes stale (G1) before the
/// receiver looks for the peer's calls, and who sends checks the address (G2) after it has noted the call. Both
/// accesses, and the receiver's of its notes, are sequentially consistent.
class direct_messages final : public lci::comp_impl_t {
 public:
  static constexpr uint32_t most_unanswered = 4096;

  explicit direct_messages(na_class& c);
  /// Throws what the core throws.
  void open();
  void attach(na_context* context, direct_receiver* to);
  void detach();
  void signal(lci::status_t status) override;

  /// False: not now. Throws lci::peer_failure_error.
  bool send(addr to, const void* buffer, size_t size, na_tag_t tag);
  /// From now on the peer's end is noticed, also if it leaves politely.
  LCI_COLD void watch(addr to);
  /// The peer has left, or has failed.
  void on_departure(na_addr_t value);

 private:
  struct early {
    na_addr_t source;
    na_tag_t tag;
    std::vector<char> bytes;
  };
  /// Gets the end of the receive that no message meets; its user_context is the peer's address.
  class departures final : public lci::comp_impl_t {
   public:
    explicit departures(direct_messages& m);
    void signal(lci::status_t status) override;

   private:
    direct_messages& messages_;
  };
  struct peer {
    std::atomic<uint32_t> unanswered{0};  // decreased under lock_
    std::atomic<uint32_t> watched{0};     // generation whose end will be noticed
  };

  na_class& class_;
  departures departures_;
  std::unique_ptr<peer[]> peers_;
  lci::spinlock lock_;                   // held while the receiver is called
  direct_receiver* receiver_ = nullptr;  // under lock_
  na_context* context_ = nullptr;        // under lock_
  std::vector<early> early_;             // under lock_: messages without a receiver
};

}  // namespace na
