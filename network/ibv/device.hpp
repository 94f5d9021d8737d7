// A device over libibverbs: a completion queue, a shared receive queue, and a queue pair for each peer.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/common/deferred_events.hpp"
#include "network/common/peer_state.hpp"
#include "network/fabric.hpp"
#include "network/ibv/address.hpp"
#include "network/ibv/completion.hpp"
#include "network/ibv/context.hpp"
#include "network/ibv/credits.hpp"
#include "network/ibv/domains.hpp"
#include "network/ibv/memory.hpp"
#include "network/ibv/pair_numbers.hpp"
#include "network/ibv/receive_slots.hpp"
#include "network/ibv/send_queue.hpp"

namespace lci::network::ibv {

/// Thread-safe. Providers guard each of their queues with a lock of its own; before each of these stands
/// one of ours, that is tried only: who does not get it has `retry_lock` and does something else.
class device final : public network::device {
 public:
  device(context& c, const device_attr_t& attr, size_t eager_size);
  ~device() override;
  /// All are met at once: a queue pair is connected with that of its peer before anything comes.
  void settle(acquaintance how) override;

  errorcode_t post(const net_op& op) override;
  errorcode_t inject(int peer, message_head head, const void* payload, size_t size) override;
  int poll(event_sink& sink, int max_events) override;
  errorcode_t post_recv(segment buffer, void* context) override;
  registration register_memory(void* base, size_t size) override { return registrar_->add(base, size); }
  void deregister_memory(const registration& reg) override { registrar_->remove(reg); }
  void wait(int64_t timeout_us) override { sleep(timeout_us, false); }
  void park(int64_t timeout_us) override { sleep(timeout_us, true); }
  void unpark() override;
  bool flushed() override;
  void start() override;

 private:
  static constexpr int batch = 32;  // completions taken at a time

  struct alignas(cache_line) peer {
    owned<ibv_qp> pair;
    spinlock* lock = nullptr;  // own_lock, or the device's
    spinlock own_lock;
    peer_state what;
    bool dismissed = false;  // flushed(): a goodbye is posted
    uint64_t credits_at = 0;   // where it is told how many of its messages we have taken
    uint32_t credits_key = 0;
    send_queue queue;
  };

  // device_setup.cpp
  void open(const device_attr_t& attr, size_t eager_size);
  /// What does not go by itself.
  void close_own();
  struct sizes {
    uint32_t sends;     // of each send queue
    uint32_t receives;  // of the receive queue
    int completions;    // of the completion queue: more than all these can't be under way
  };
  sizes choose_sizes(const device_attr_t& attr) const;
  void make_queues(const sizes& s);
  void make_pairs(const device_attr_t& attr, const sizes& s);
  /// Tells the others where we are, at the next publish().
  void offer(size_t eager_size);
  std::vector<uint32_t> own_numbers() const;
  /// Returns how long a message fits into the receive buffers of all.
  size_t connect();
  void set_limits(size_t longest);

  // device.cpp
  /// What the core asks for, in a work request whose pieces are there; `done` or `posted` if it went.
  errorcode_t submit(int to, ibv_send_wr& work, const net_op* op);
  errorcode_t hand_over(peer& p, ibv_send_wr& work, void* owner, bool silent, bool reserved);
  /// 0, or why the card refuses it.
  int post_buffer(uint32_t slot);
  /// Tells the peer how many of its messages have been taken. False: not now.
  bool tell_credits(int to, uint32_t taken);
  peer& peer_at(int rank) { return peers_[static_cast<size_t>(rank)]; }
  bool is_gone(int rank) { return peer_at(rank).what.is_gone(); }

  // device_poll.cpp
  /// Both by who holds poll_lock_. Negative: what libibverbs says that is no number of completions.
  int read_queue(completion* to, int max);
  completion look_at(const ibv_wc& wc);
  /// For a post that finds no room, and for who wants to sleep: takes what is there, for the next poll to
  /// tell. So a program may post again and again without one.
  LCI_COLD void read_ahead();
  void handle(const completion& c, event_sink& sink);
  /// Gives the buffer back to the receive queue. If the card refuses, the next poll does, and says why if it is not
  /// for now.
  void repost(uint32_t slot);
  int offer_slot(uint32_t slot);
  LCI_COLD int report_deferred(event_sink& sink);

  // device_peers.cpp
  LCI_COLD void fail_peer(int peer, const std::string& reason);
  LCI_COLD void fail_all(const std::string& reason);
  LCI_COLD void let_go(int rank);
  LCI_COLD void check_peers();
  void handle_control(int peer, uint32_t what);
  bool dismiss(peer& p);
  /// What the card says of itself and of queue pairs that carry nothing.
  LCI_COLD void read_card_events();
  void sleep(int64_t timeout_us, bool parked);

  context& context_;
  // In the order in which they are made.
  owned<ibv_context> card_;
  owned<ibv_pd> domain_;
  owned<ibv_comp_channel> channel_;
  owned<ibv_cq> completions_;
  owned<ibv_srq> receives_;
  std::unique_ptr<domains> domains_;
  std::unique_ptr<registrar> registrar_;
  std::unique_ptr<peer[]> peers_;
  address own_address_;
  address_exchange::ticket addresses_of_all_;
  pair_numbers numbers_;
  receive_slots slots_;
  std::unique_ptr<credits> credits_;
  registration credits_memory_;
  uint32_t inline_size_ = 0;  // as much goes into a work request itself
  int wake_fd_ = -1;          // of unpark()

  alignas(cache_line) spinlock send_lock_;  // tried only: all queue pairs', if they have none of their own
  alignas(cache_line) spinlock receive_lock_;  // tried only
  alignas(cache_line) spinlock poll_lock_;     // tried only
  std::atomic<size_t> departures_seen_{0};     // of the context's watch
  uint32_t idle_polls_ = 0;                    // under poll_lock_

  /// What happened outside of a poll, or could not be told in it.
  alignas(cache_line) deferred_events deferred_;
  std::vector<completion> untold_;   // deferred_: read ahead, or a handler has thrown before them
  std::vector<uint32_t> unposted_;   // deferred_: slots of receive buffers

  goodbye_timeout farewell_time_;  // of flushed(): by one thread
};

}  // namespace lci::network::ibv
