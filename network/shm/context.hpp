// What the devices of one runtime share: the own segment, the peers' addresses and mappings, and
// the watch over peers that die.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "network/fabric.hpp"
#include "network/shm/cma.hpp"
#include "network/shm/guests.hpp"
#include "network/shm/heap.hpp"
#include "network/shm/process.hpp"
#include "network/shm/segment.hpp"

namespace lci::network::shm {

/// Thread-safe after construction, which is collective.
class context final : public network::context {
 public:
  context(address_exchange& exchange, const net_context_attr_t& attr);
  ~context() override;

  std::unique_ptr<network::device> create_device(const device_attr_t& attr,
                                                 size_t eager_size) override;

  heap_window own_heap() override;
  void discard(std::byte* begin, size_t size) override { heap_->discard(begin, size); }
  heap_window heap_of(int peer) override;

  void open_to_guests(guest_book& book) override;
  std::string own_address() override { return guests_ == nullptr ? "" : guests_->address_text(); }
  int connect(const std::string& to) override;
  contact contact_with(int peer) override { return guests_->contact_with(peer); }
  void disconnect(int peer) override { guests_->disconnect(peer); }

  /// Null: there are none.
  shm::guests* guests() const { return guests_.get(); }
  bool is_guest(int peer) const { return peer >= size(); }
  /// Ranks, and ids of guests behind them.
  int n_ids() const { return size() + (guests_ == nullptr ? 0 : guests_->book().capacity()); }
  /// Changed whenever devices have something to look at.
  uint64_t news() const { return news_->load(std::memory_order_acquire); }  // A8: pairs with R8

  /// Ranks of this host, as far as processes are concerned: those that see each other by number.
  bool reaches(int peer) const override {
    return peers_[static_cast<size_t>(peer)].where.space == peers_[static_cast<size_t>(rank_)].where.space;
  }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  /// 0 for a guest that is not connected.
  int pid_of(int peer) const {
    return is_guest(peer) ? guests_->pid_of(peer) : peers_[static_cast<size_t>(peer)].where.pid;
  }
  segment_view own() const { return segment_->view(); }
  bool attach_works() const { return attach_works_; }

  /// The peer's segment, mapped at the first call. Throws peer_failure_error or resource_error.
  segment_view segment_of(int peer);

  struct place {
    uint32_t number;  // of a device, the same at all ranks
    uint32_t entry;   // in the own segment
  };
  /// For the next device. Throws resource_error if there are too many.
  place open_device();

  /// Looks, now and then, whether peers have died. Cheap enough for idle loops.
  void watch_peers();
  /// Peers that have failed so far, in the order in which that was seen.
  size_t n_failures() const { return n_failures_.load(std::memory_order_acquire); }
  int failure(size_t i);
  bool has_failed(int peer) const {
    if (is_guest(peer)) return !guests_->connected(peer);
    return peers_[static_cast<size_t>(peer)].failed.load(std::memory_order_acquire);
  }
  /// Whether the peer has said goodbye.
  bool has_left(int peer) const {
    return own().goodbye_of(peer).load(std::memory_order_acquire) != 0;
  }

 private:
  struct peer {
    address where;
    std::atomic<std::byte*> mapped{nullptr};
    mapping map;          // under mutex_
    std::unique_ptr<peer_heap> heap;
    process_watch watch;  // under watch_mutex_
    bool gone = false;    // under watch_mutex_: nothing more will be said of it
    std::atomic<bool> failed{false};
  };

  void say_goodbye();

  int rank_;
  std::unique_ptr<own_segment> segment_;
  std::unique_ptr<shm::own_heap> heap_;
  size_t heap_size_;
  uint64_t probe_ = segment_magic;
  std::vector<peer> peers_;
  address mine_;
  std::unique_ptr<shm::guests> guests_;
  std::atomic<uint64_t> own_news_{0};
  std::atomic<uint64_t>* news_ = &own_news_;  // in the lobby where there is one
  bool attach_works_ = false;
  size_t n_slots_, data_size_;
  std::mutex mutex_;
  uint32_t next_device_ = 0;  // under mutex_

  std::mutex watch_mutex_;
  std::atomic<uint64_t> next_watch_{0};  // milliseconds, steady clock
  std::vector<int> failures_;            // under watch_mutex_
  std::atomic<size_t> n_failures_{0};
};

}  // namespace lci::network::shm
