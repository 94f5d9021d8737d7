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
#include "network/common/remote_device.hpp"
#include "network/common/waiting_list.hpp"
#include "network/fabric.hpp"
#include "network/ofi/context.hpp"
#include "network/ofi/memory.hpp"
#include "network/ofi/outbox.hpp"
#include "network/ofi/request.hpp"
#include "network/ofi/tag.hpp"

namespace lci::network::ofi {

/// Thread-safe: the provider locks as it needs to (FI_THREAD_SAFE). It holds its lock for long, so one of ours an
/// endpoint is tried before it: a thread that does not get it returns `retry_lock` and may do other work. The attribute
/// `ofi_lock_mode` chooses other locks, or none.
class device final : public remote_device, public bundling_device {
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
  /// A bundle wakes all threads that sleep, not only a progress thread.
  void wait(int64_t timeout_us) override { park(timeout_us); }
  network::attention attention_of(int) override {
    return context_.provider().gets_need_polls() ? attention::needed : attention::unknown;
  }
  bool rma_waits_for(int) const override { return context_.provider().gets_need_polls(); }
  bool flush_if_unpolled() override;

 private:
  static constexpr size_t batch = 32;                     // completions read at a time
  static constexpr size_t spare_completions = 8 * batch;  // space for those of several threads whose handlers throw
  static constexpr size_t max_injected = 1024;            // bytes; injected messages are assembled on the stack

  struct peer {
    std::atomic<fi_addr_t> address{FI_ADDR_NOTAVAIL};
    peer_state state;
    std::atomic<bool> met{false};  // exchanged a message with it: it needs a close notification
    bool close_sent = false;       // flushed(): the close notification was posted or need not be
    std::atomic<bool> close_acknowledged{false};
    std::atomic<bool> suspected{false};  // see suspect_unreachable(): nothing is sent meanwhile
    std::atomic<bool> reported{false};   // the core knows that it is gone
    std::atomic<int> under_way{0};       // requests to the peer that have not ended
    outbox out;
    suspicion why_suspected;
  };

  // device_setup.cpp
  void open_endpoint(const device_attr_t& attr);
  void set_limits(const device_attr_t& attr, size_t longest);

  // device_addresses.cpp
  /// Reads what `rank` has offered, and returns the size of its receive buffers. Throws bootstrap_error if the ranks
  /// are not compatible.
  size_t take_address(int rank, const std::string& offered);
  /// Inserts the address of a peer at the first post to it. Returns `done`, `retry_nomem`, or `fatal` if the peer can't
  /// be reached; the peer then counts as failed.
  LCI_COLD errorcode_t learn_address(int rank);
  std::string own_address() const;

  errorcode_t send(const net_op& op, message_tag::kind what);
  ssize_t send_message(request& r, const segment& all, uint64_t tag, fi_addr_t to);
  segment copy_with_trailer(request& r, const segment& message, uint64_t tag);
  /// Ensures that the request has a buffer for a message and a trailer.
  void make_copy(request& r);
  errorcode_t put_or_get(const net_op& op);
  errorcode_t inject_put(const net_op& op);
  errorcode_t put_copy(const net_op& op);
  ssize_t put_or_get_piece(request& r, const segment& local, const net_op& op, fi_addr_t to);
  /// Tries the lock for a call of that kind, an LCI_NET_* bit.
  attempt try_for(spinlock& lock, uint64_t kind) {
    return attempt(one_lock_ ? send_lock_ : lock, (lock_mode_ & kind) != 0);
  }
  /// Makes a call that sends to `rank`, unless the peer is gone or another thread has the lock. Returns `good`, or the
  /// error code for the core if the call fails.
  template <class F>
  errorcode_t send_to(int rank, errorcode_t good, F call);
  /// Sends all waiting messages to `rank`, then calls `send`. `retry_lock`: another thread is sending.
  template <class F>
  errorcode_t in_turn(int rank, F send);
  /// As send_to(), for a call that takes a request, which ends at its completion.
  template <class F>
  errorcode_t begin(const net_op& op, request::kind what, F call);
  /// As begin(), for a request of kind `copy`, which remains the caller's unless the result is `posted`.
  template <class F>
  errorcode_t begin_copied(request& r, F call);
  void end(request& r);
  void count_begin(const request& r);
  void count_end(const request& r);
  /// Returns whether the peer may have one more request. All peers share the provider's queue, and one that makes no
  /// progress keeps what it has: it gets at most three times of what is left for the others.
  bool has_share(int rank) const {
    const int64_t left = queue_size_ - under_way_.load(std::memory_order_relaxed);
    return LCI_LIKELY(peers_[static_cast<size_t>(rank)].under_way.load(std::memory_order_relaxed) < 3 * left);
  }
  /// Returns has_share(). If that is false, also reads completions, by which requests end: a later post may succeed.
  bool takes_share(int rank) {
    if (LCI_LIKELY(!is_shared_ || has_share(rank))) return true;
    read_on();
    return false;
  }
  /// From the pool of the core's operations. Reserves what reporting its failure needs.
  request& take_request();
  /// Announces this device to a peer that will not notice our puts and gets, so that it sends us a close notification.
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
  bool is_gone(int peer) const { return peers_[static_cast<size_t>(peer)].state.is_gone(); }
  /// Gone or suspected.
  bool is_out_of_reach(int peer) const {
    return is_gone(peer) || peers_[static_cast<size_t>(peer)].suspected.load(std::memory_order_relaxed);
  }
  /// Posts meanwhile return `retry_nomem`, until the core knows why the peer is out of reach.
  errorcode_t why_out_of_reach(int peer) const {
    return is_reported_gone(peer) ? errorcode_t::fatal : errorcode_t::retry_nomem;
  }
  /// Returns whether the core knows that the peer is gone.
  bool is_reported_gone(int peer) const {
    return is_gone(peer) && peers_[static_cast<size_t>(peer)].reported.load(std::memory_order_relaxed);
  }
  uint64_t tag_of(message_tag::kind what) const { return message_tag{what, context_.rank()}.packed(); }

  // device_inject.cpp
  errorcode_t inject_parts(int peer, const parts& m);
  errorcode_t inject_alone(int peer, const parts& m);
  /// As inject_alone(), for a message that is too large for the provider to inject.
  errorcode_t send_copy(int peer, const parts& m);
  /// Appends the message to the waiting bundle. `alone`: it must go alone; `no_room`: no bundle has space; `filled`:
  /// appended, and a bundle is full.
  enum class joined : uint8_t { alone, waits, filled, no_room };
  joined join(int peer, const parts& m);
  /// Takes a request of kind `copy`, with an empty buffer of its own.
  request& new_copy(int peer);
  errorcode_t send_bundles(int peer);
  /// As send_bundles(); the caller has the turn.
  errorcode_t send_waiting(int peer);
  errorcode_t send_copied(request& r, message_tag::kind what);
  /// Calls `send()` for a post that has copied its data to the request. Returns `done` if the result is `posted`;
  /// otherwise gives the request back, and returns the result.
  template <class F>
  errorcode_t inject_copy(request& r, F send);
  void flush_bundles() {
    if (bundles_.any()) send_all_bundles();
  }
  LCI_NOINLINE void send_all_bundles();

  // device_poll.cpp
  /// A completion from libfabric. With the flag `failed`, `data` is the error.
  using completion = fi_cq_data_entry;
  static constexpr uint64_t failed = uint64_t{1} << 63;
  /// Reads up to `most` completions; -FI_EAGAIN: none, -FI_EBUSY: another thread has the lock.
  ssize_t read_queue(completion* to, size_t most);
  LCI_COLD ssize_t read_failure(completion& to);
  /// The result of a poll without completions. Throws if the completion queue is broken.
  LCI_COLD int end_vain_poll(ssize_t error, int n_events);
  /// Reads the completion queue for a post that finds no space, and for bundles sent without polls, as providers make
  /// progress and connect only while their queue is read. Completions for the core are kept for the next poll, so a
  /// program may retry a post without polling.
  LCI_COLD void read_on();
  bool end_own(const completion& e);
  void handle(const completion& e, event_sink& sink);
  void handle_message(const completion& e, event_sink& sink);
  void handle_bundle(const completion& e, int peer, event_sink& sink);
  void handle_put(uint64_t bits, event_sink& sink);
  LCI_COLD void handle_failure(const completion& e, event_sink& sink);
  LCI_COLD void report_failed(request& r, event_sink& sink);
  LCI_COLD void handle_control(const message_tag& tag);
  LCI_COLD int report_deferred(event_sink& sink);
  /// Reposts a receive buffer. If the provider refuses, the next poll retries, and throws if the error is permanent.
  LCI_COLD void repost(request& buffer);
  ssize_t offer_buffer(request& buffer);
  /// Acknowledges a close notification; if that is not possible now, the next poll tries again.
  LCI_COLD void acknowledge_close(int peer);

  // device_peers.cpp
  peer_state& state_of(int rank) override { return peers_[static_cast<size_t>(rank)].state; }
  std::string label() const override { return provider_.name(); }
  void on_gone(int rank, bool failed) override;
  bool has_sent_all() override;
  bool has_unsent(int rank) override;
  bool close_to(int rank) override;
  void check_own() override;
  bool prepare_to_sleep(sleep_set& events) override;
  /// A message of an unknown peer is lost, as receiving it has failed.
  LCI_COLD void lose_message(int error);
  /// If no peer's end explains lost messages, all peers count as failed.
  LCI_COLD void check_lost_messages();
  /// The provider can't reach a peer. The liveness connections decide whether it has failed or has freed its device.
  /// Needs no memory.
  LCI_COLD void suspect_unreachable(int peer, int error);
  /// An operation of the core has failed: reported after its peer's failure or end. Needs no memory.
  LCI_COLD void fail_later(request& r);
  bool send_control(int peer, message_tag::kind what);

  context& context_;
  const provider& provider_;
  const uint64_t lock_mode_;
  const bool one_lock_;  // one lock for all kinds of calls
  const device_attr_t attr_;
  const size_t eager_size_;
  address_exchange::offer_id addresses_of_all_;
  std::mutex learn_lock_;
  owned_info info_;  // the provider's, with the sizes of our queues
  owned<fid_domain> domain_;
  owned<fid_cq> queue_;
  owned<fid_av> addresses_;
  owned<fid_ep> endpoint_;
  std::unique_ptr<registrar> registrar_;
  std::unique_ptr<peer[]> peers_;
  size_t trailer_ = 0;  // bytes appended to each message
  int wait_fd_ = -1;    // of the completion queue; -1: the provider has none

  size_t injected_end_ = 0;  // the largest message or put that the provider injects
  size_t bundle_size_ = 0;   // 0: no bundles

  request_pool requests_;
  request_pool copies_;
  alignas(cache_line) std::atomic<int64_t> under_way_{0};  // requests with a completion to come
  spinlock send_lock_, receive_lock_, poll_lock_;          // only tried, as lock_mode_ says; see try_for()
  std::mutex memory_lock_;                                 // as lock_mode_ says

  waiting_list<int> bundles_;             // peers for which messages may wait
  std::atomic<int> copies_under_way_{0};  // accepted by the provider and not completed
  int64_t queue_size_ = 0;                // the provider's: requests that can be under way
  bool is_shared_ = false;                // the queue, between several peers

  // Lists of deferred_.
  deferred_events::list<completion> unhandled_;  // read by a post, or a handler threw before these were handled
  deferred_events::list<request*> unposted_;     // receive buffers to repost
  deferred_events::list<int> unacknowledged_;    // peers whose close notifications are to be acknowledged
  deferred_events::list<request*> failed_;       // operations reported after their peer's failure or end

  std::mutex lost_lock_;            // protects the following
  std::atomic<int> lost_error_{0};  // of a receive that failed for a reason not yet known; 0: none
  std::chrono::steady_clock::time_point lost_at_, last_departure_{};  // of that; of a departure
};

}  // namespace lci::network::ofi
