// A device over libibverbs: a completion queue, a shared receive queue, and a queue pair for each peer.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/common/remote_device.hpp"
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

/// Thread-safe. Providers protect each of their queues with a lock; before each of these we use a try-lock: a thread
/// that does not get it returns `retry_lock` and may do other work.
class device final : public remote_device {
 public:
  device(context& c, const device_attr_t& attr, size_t eager_size);
  ~device() override;
  /// Connects to all peers at once: a queue pair must be connected with its peer before anything arrives.
  void settle(acquaintance how) override;

  errorcode_t post(const net_op& op) override;
  errorcode_t inject(int peer, message_head head, const void* payload, size_t size) override;
  int poll(event_sink& sink, int max_events) override;
  errorcode_t post_recv(segment buffer, void* context) override;
  registration register_memory(void* base, size_t size) override { return registrar_->add(base, size); }
  void deregister_memory(const registration& reg) override { registrar_->remove(reg); }
  void start() override;

 private:
  static constexpr int batch = 32;  // completions read at a time
  static constexpr size_t spare_completions =
      size_t{8} * batch;  // space for those of several threads whose handlers throw

  struct alignas(cache_line) peer {
    owned<ibv_qp> pair;
    spinlock* lock = nullptr;  // own_lock, or the device's
    spinlock own_lock;
    peer_state state;
    bool close_sent = false;  // flushed(): the close notification was posted
    uint64_t credits_at = 0;  // address of our word in its array of credits
    uint32_t credits_key = 0;
    send_queue queue;
  };

  // device_setup.cpp
  void open(const device_attr_t& attr, size_t eager_size);
  /// Releases what has no destructor of its own.
  void close_own();
  struct sizes {
    uint32_t sends;     // of each send queue
    uint32_t receives;  // of the receive queue
    int completions;    // of the completion queue: the sum of all queue lengths
  };
  sizes choose_sizes(const device_attr_t& attr) const;
  void make_queues(const sizes& s);
  void make_pairs(const device_attr_t& attr, const sizes& s);
  /// Offers our address for the next publish().
  void offer(size_t eager_size);
  std::vector<uint32_t> own_numbers() const;
  /// Connects all queue pairs. Returns the size of the smallest receive buffer of all ranks.
  size_t connect();
  void set_limits(size_t longest);

  // device.cpp
  /// Posts a work request whose pieces are set; returns `done` or `posted` on success.
  errorcode_t submit(int to, ibv_send_wr& work, const net_op* op);
  errorcode_t hand_over(peer& p, ibv_send_wr& work, void* owner, bool silent, bool reserved);
  /// Returns 0, or the error of the card.
  int post_buffer(uint32_t slot);
  /// Acknowledges to the peer how many of its messages were taken. Returns false if it has to be called again later.
  bool acknowledge(int to, uint32_t taken);
  peer& peer_at(int rank) { return peers_[static_cast<size_t>(rank)]; }
  bool is_gone(int rank) { return peer_at(rank).state.is_gone(); }

  // device_poll.cpp
  /// The caller of both holds poll_lock_. Negative: an error of libibverbs.
  int read_queue(completion* to, int max);
  completion look_at(const ibv_wc& wc);
  /// Reads completions for the next poll to report; for a post that finds no space, and before sleeping. So a program
  /// may retry a post without polling.
  LCI_COLD void read_ahead();
  void handle(const completion& c, event_sink& sink);
  LCI_COLD void handle_unsent(const completion& c, event_sink& sink);
  /// Reposts the buffer to the receive queue. If the card refuses, the next poll retries, and throws if the error is
  /// permanent.
  void repost(uint32_t slot);
  int offer_slot(uint32_t slot);
  LCI_COLD int report_deferred(event_sink& sink);

  // device_peers.cpp
  peer_state& state_of(int rank) override { return peer_at(rank).state; }
  std::string label() const override;
  void on_gone(int rank, bool failed) override;
  bool has_sent_all() override { return true; }  // close_to() waits for the queue of each peer
  bool close_to(int rank) override;
  bool prepare_to_sleep(sleep_set& events) override;
  void on_wake(const sleep_set& events) override;
  LCI_COLD void fail_all(const char* reason);
  void handle_control(int peer, uint32_t what);
  /// Reads the asynchronous events of the card and its queue pairs.
  LCI_COLD void read_card_events();

  context& context_;
  // In order of construction.
  owned<ibv_context> card_;
  owned<ibv_pd> domain_;
  owned<ibv_comp_channel> channel_;
  owned<ibv_cq> completions_;
  owned<ibv_srq> receives_;
  std::unique_ptr<domains> domains_;
  std::unique_ptr<registrar> registrar_;
  std::unique_ptr<peer[]> peers_;
  address own_address_;
  address_exchange::offer_id addresses_of_all_;
  pair_numbers numbers_;
  receive_slots slots_;
  std::unique_ptr<credits> credits_;
  registration credits_memory_;
  uint32_t inline_size_ = 0;  // bytes that fit into a work request itself

  alignas(cache_line) spinlock send_lock_;     // only tried: of all queue pairs that don't have their own lock
  alignas(cache_line) spinlock receive_lock_;  // only tried
  alignas(cache_line) spinlock poll_lock_;     // only tried

  // Lists of deferred_.
  alignas(cache_line) deferred_events::list<completion> unhandled_;  // read ahead, or a handler threw before
  deferred_events::list<uint32_t> unposted_;                         // slots of receive buffers
};

}  // namespace lci::network::ibv
