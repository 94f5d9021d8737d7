// A device over libfabric: a domain, an endpoint, a completion queue and the peers' addresses.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/attempt.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/common/bundle_parts.hpp"
#include "network/common/deferred_events.hpp"
#include "network/common/peer_state.hpp"
#include "network/fabric.hpp"
#include "network/ofi/context.hpp"
#include "network/ofi/memory.hpp"
#include "network/ofi/outbox.hpp"
#include "network/ofi/request.hpp"
#include "network/ofi/tag.hpp"

namespace lci::network::ofi {

/// Thread-safe: the provider locks as it needs to (FI_THREAD_SAFE). Where it does so for long, the
/// attribute `ofi_lock_mode` puts locks of ours before it, that are tried only: who does not get one has
/// `retry_lock` and does something else.
class device final : public network::device, public holds_back {
 public:
  /// Offers the endpoint's address.
  device(context& c, const device_attr_t& attr, size_t eager_size);
  ~device() override;
  void settle(acquaintance how) override;

  errorcode_t post(const net_op& op) override;
  errorcode_t inject(int peer, message_head head, const void* payload, size_t size) override;
  int poll(event_sink& sink, int max_events) override;
  errorcode_t post_recv(segment buffer, void* context) override;
  registration register_memory(void* base, size_t size) override;
  void deregister_memory(const registration& reg) override;
  void wait(int64_t timeout_us) override { sleep(timeout_us); }
  void park(int64_t timeout_us) override { sleep(timeout_us); }
  void unpark() override;
  network::attention attention_of(int) override {
    return context_.provider().gets_need_polls() ? attention::needed : attention::unknown;
  }
  bool flushed() override;
  bool flush_if_unattended() override;

 private:
  static constexpr size_t batch = 32;          // completions taken at a time
  static constexpr size_t max_injected = 1024;  // they are put together on the stack

  struct peer {
    std::atomic<fi_addr_t> address{FI_ADDR_NOTAVAIL};
    peer_state what;
    std::atomic<bool> met{false};      // something went there, or came from there: it wants a goodbye
    bool dismissed = false;            // flushed(): a goodbye is on its way, or has come to its end
    std::atomic<bool> noted{false};    // it has read that goodbye
    std::atomic<bool> in_doubt{false};  // see suspect(): nothing is sent meanwhile
    std::atomic<bool> told{false};     // the core knows that it is gone
    outbox out;
  };

  // device_setup.cpp
  void open_endpoint(const device_attr_t& attr);
  void set_limits(const device_attr_t& attr, size_t longest);

  // device_addresses.cpp
  /// Takes what `rank` has offered, and returns how long a message fits into its receive buffers. Throws
  /// bootstrap_error if the ranks don't fit together.
  size_t take_address(int rank, const std::string& offered);
  /// Inserts the address of a peer, at the first post to it. Returns `done`, `retry_nomem`, or `fatal` if the peer
  /// can't be reached; it then counts as failed.
  LCI_COLD errorcode_t learn_address(int rank);
  std::string tell_address() const;

  errorcode_t send(const net_op& op, message_tag::kind what);
  ssize_t send_message(request& r, const segment& all, uint64_t tag, fi_addr_t to);
  segment copy_with_trailer(request& r, const segment& message, uint64_t tag);
  /// Sees to it that the request has room for a message and a trailer.
  void make_copy(request& r);
  errorcode_t put_or_get(const net_op& op);
  errorcode_t inject_put(const net_op& op);
  /// The lock for a call of that kind, an LCI_NET_* bit.
  attempt try_for(spinlock& lock, uint64_t kind) {
    return attempt(one_lock_ ? send_lock_ : lock, (lock_mode_ & kind) != 0);
  }
  /// Makes a call that sends to `rank`, unless that is gone or another thread has the lock. Returns
  /// `good`, or what the call's failure means to the core.
  template <class F>
  errorcode_t send_to(int rank, errorcode_t good, F call);
  /// Lets `send` send to `rank` what comes behind all that waits; `retry_lock`: another thread is at it.
  template <class F>
  errorcode_t in_turn(int rank, F send);
  /// The same for a call that takes a request, to be ended at its completion.
  template <class F>
  errorcode_t begin(const net_op& op, request::kind what, F call);
  void end(request& r);
  /// Lets a peer know of us that will see nothing of what we do there: it must say goodbye to us, too.
  bool introduce(int rank) {
    return LCI_LIKELY(peers_[static_cast<size_t>(rank)].met.load(std::memory_order_relaxed)) ||
           send_control(rank, message_tag::kind::hello);
  }
  void meet(int rank) {
    std::atomic<bool>& met = peers_[static_cast<size_t>(rank)].met;
    if (LCI_LIKELY(met.load(std::memory_order_relaxed))) return;
    met.store(true, std::memory_order_relaxed);
    context_.peers().meet(rank);
  }
  bool is_gone(int peer) const {
    return peers_[static_cast<size_t>(peer)].what.is_gone();
  }
  /// Gone, or in doubt.
  bool is_out_of_reach(int peer) const {
    return is_gone(peer) || peers_[static_cast<size_t>(peer)].in_doubt.load(std::memory_order_relaxed);
  }
  /// What is posted to it meanwhile waits until the core knows why.
  errorcode_t why_out_of_reach(int peer) const {
    return is_told_gone(peer) ? errorcode_t::fatal : errorcode_t::retry_nomem;
  }
  /// Whether the core, too, knows that it is gone, and why.
  bool is_told_gone(int peer) const {
    return is_gone(peer) && peers_[static_cast<size_t>(peer)].told.load(std::memory_order_relaxed);
  }
  uint64_t tag_of(message_tag::kind what) const { return message_tag{what, context_.rank()}.packed(); }

  // device_inject.cpp
  errorcode_t inject_parts(int peer, const parts& m);
  errorcode_t inject_alone(int peer, const parts& m);
  /// Puts the message behind those that wait to go together, unless it is to go `alone` or there is
  /// `no_room`. `filled`: and a bundle is full.
  enum class joined : uint8_t { alone, waits, filled, no_room };
  joined join(int peer, const parts& m);
  request& new_bundle(int peer);
  errorcode_t send_bundles(int peer);
  /// The same for who has the turn.
  errorcode_t send_waiting(int peer);
  errorcode_t send_bundle(request& r);
  void flush_bundles() {
    if (n_bundles_.load(std::memory_order_relaxed) != 0) send_all_bundles();
  }
  LCI_NOINLINE void send_all_bundles();

  // device_poll.cpp
  /// A completion of libfabric's; `failed` among its flags: `data` is the error.
  using completion = fi_cq_data_entry;
  static constexpr uint64_t failed = uint64_t{1} << 63;
  /// Takes up to `most` off the queue; -FI_EAGAIN: there is none, -FI_EBUSY: another thread has the lock.
  ssize_t read_queue(completion* to, size_t most);
  LCI_COLD ssize_t read_failure(completion& to);
  /// What a poll returns that found no completion. Throws if the completion queue is broken.
  LCI_COLD int end_vain_poll(ssize_t error, int told);
  /// For a post that finds no room, and for bundles that leave without polls: providers get on, and make
  /// connections, when their queue is read. What the core waits for is told by the next poll, so a program may post
  /// again and again without one.
  LCI_COLD void read_on();
  bool end_own(const completion& e);
  void keep(const completion* begin, const completion* end);
  void handle(const completion& e, event_sink& sink);
  void handle_message(const completion& e, event_sink& sink);
  void handle_bundle(const completion& e, int peer, event_sink& sink);
  void handle_put(uint64_t bits, event_sink& sink);
  LCI_COLD void handle_failure(const completion& e, event_sink& sink);
  LCI_COLD void handle_control(const message_tag& tag);
  LCI_COLD int report_deferred(event_sink& sink);
  /// Posts a receive buffer again. If the provider refuses, the next poll tries again, and throws if the error is
  /// not one that passes.
  LCI_COLD void repost(request& buffer);
  ssize_t offer_buffer(request& buffer);
  LCI_COLD void answer_goodbye(int peer);

  // device_peers.cpp
  LCI_COLD void check_peers();
  void let_go(int rank);
  void count_idle() {
    // Not a counter of anything: increments lost between threads only make the looks rarer.
    const uint32_t idle = idle_.load(std::memory_order_relaxed) + 1;
    idle_.store(idle, std::memory_order_relaxed);
    if (LCI_UNLIKELY(idle % 1024 == 0)) check_peers();
  }
  LCI_COLD void fail_peer(int peer, const std::string& reason);
  /// A message of a peer that is not known will not come: receiving it has failed.
  LCI_COLD void lose_message(int error);
  LCI_COLD void look_after_lost_messages();
  /// A peer, or its device, has gone: messages that were cut short by that are not lost.
  LCI_COLD void explain_losses();
  /// The provider can't reach a peer, with what it was to do for the core (null: that waits for nothing). Whether the
  /// peer has failed or has freed its device is decided by what watches it.
  LCI_COLD void suspect(int peer, const std::string& reason, void* failed);
  LCI_COLD void settle_doubts();
  bool send_control(int peer, message_tag::kind what);
  void sleep(int64_t timeout_us);
  void sleep_until_woken(int64_t timeout_us);

  context& context_;
  const provider& provider_;
  const uint64_t lock_mode_;
  const bool one_lock_;  // for calls of all kinds
  const device_attr_t attr_;
  const size_t eager_size_;
  address_exchange::ticket addresses_of_all_;
  std::mutex learn_lock_;
  owned_info info_;  // the provider's, with the sizes of our queues
  owned<fid_domain> domain_;
  owned<fid_cq> queue_;
  owned<fid_av> addresses_;
  owned<fid_ep> endpoint_;
  std::unique_ptr<registrar> registrar_;
  std::unique_ptr<peer[]> peers_;
  size_t trailer_ = 0;  // bytes behind each message
  int wait_fd_ = -1;   // of the completion queue; -1: the provider has none
  int wake_fd_ = -1;   // of unpark()

  size_t bundle_size_ = 0;  // 0: each message goes alone

  request_pool requests_;
  request_pool bundle_requests_;
  alignas(cache_line) std::atomic<int64_t> under_way_{0};  // requests that will tell the core, or us
  std::atomic<uint32_t> idle_{0};  // polls and posts in vain
  uint32_t number_ = 0;  // among the context's, alike at all ranks
  std::atomic<size_t> departures_seen_{0};
  spinlock send_lock_, receive_lock_, poll_lock_;  // tried only, as lock_mode_ says; see try_for()
  std::mutex memory_lock_;                         // as lock_mode_ says

  spinlock bundles_lock_;
  std::vector<int> bundles_;            // under bundles_lock_: peers that messages may wait for
  std::atomic<size_t> n_bundles_{0};    // how many these are
  std::atomic<int> bundles_under_way_{0};  // that the provider has taken
  std::atomic<bool> attended_{false};   // polled lately
  std::atomic<int> sleepers_{0};        // threads in sleep() that have not seen a bundle

  /// What happened outside of a poll, or could not be told in it.
  deferred_events deferred_;
  std::vector<completion> untold_;         // deferred_: a handler has thrown before them
  std::vector<request*> unposted_;         // deferred_: receive buffers
  std::vector<int> unanswered_;            // deferred_: goodbyes of these peers
  struct failed_operation {
    void* context;
    int peer;
  };
  std::vector<failed_operation> failed_;   // deferred_: told after what has become of the peer

  struct doubt {
    int peer;
    std::string reason;
    std::chrono::steady_clock::time_point since;
    std::vector<void*> failed;  // the core's
  };
  std::mutex doubts_mutex_;
  std::vector<doubt> doubts_;  // under doubts_mutex_

  goodbye_timeout farewell_time_;  // of flushed(): by one thread

  std::mutex lost_lock_;                 // of these
  std::atomic<int> lost_error_{0};       // of receiving a message whose loss nothing explains yet; 0: none
  std::chrono::steady_clock::time_point lost_at_, last_departure_{};  // of that, and of a peer or its device
};

}  // namespace lci::network::ofi
