// What the devices of one runtime share: the own segment, the peers' addresses and mappings, and failure detection.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/base/cpu.hpp"
#include "network/fabric.hpp"
#include "network/shm/cma.hpp"
#include "network/shm/external_peers.hpp"
#include "network/shm/heap.hpp"
#include "network/shm/process.hpp"
#include "network/shm/segment.hpp"

namespace lci::network::shm {

struct rank_range {
  int begin = 0, end = 0;
};

/// Thread-safe once settled.
class context final : public network::context {
 public:
  context(address_exchange& exchange, const net_context_attr_t& attr);
  ~context() override;

  /// when_met: reads at once the addresses of the ranks of this host as the launcher reports them, if they are
  /// consecutive.
  void settle(acquaintance how) override;

  /// Of a device whose packets hold `eager_size` bytes. A message is contiguous in its ring, wherever that has room, so
  /// it takes at most half of it.
  size_t largest_message(size_t eager_size) const;
  /// Half of a ring at that rank; 0: its segment is not mapped yet, or it is an external peer.
  size_t half_ring_at(int peer) const {
    if (is_external(peer)) return 0;
    const segment_view its = peers_[static_cast<size_t>(peer)].segment();
    return its.mapped() ? its.shape().data_size / 2 : 0;
  }
  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;

  heap_window own_heap() override;
  void discard(std::byte* begin, size_t size) override { heap_->discard(begin, size); }
  heap_window heap_of(int peer) override;

  void open_to_external_peers(external_peer_book& book) override;
  std::string own_address() override { return external_ == nullptr ? "" : external_->address_text(); }
  int connect(const std::string& to) override;
  contact contact_with(int peer) override { return external_->contact_with(peer); }
  void disconnect(int peer) override { external_->disconnect(peer); }

  /// Returns null if there are no external peers.
  shm::external_peers* external_peers() const { return external_.get(); }
  bool is_external(int peer) const { return peer >= size(); }
  /// Number of ranks plus ids of external peers, which follow the ranks.
  int n_ids() const { return size() + (external_ == nullptr ? 0 : external_->book().capacity()); }
  /// Changes whenever devices have something to handle.
  uint64_t changes() const { return changes_->load(std::memory_order_acquire); }  // A8: pairs with R8

  /// Returns whether that rank's process is visible here by its pid, that is, on this host.
  bool reaches(int peer) override { return known(peer).where.space == mine_.space; }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  /// 0 for an external peer that is not connected.
  int pid_of(int peer) { return is_external(peer) ? external_->pid_of(peer) : known(peer).where.pid; }
  /// Records that this process accesses that rank's memory by system calls.
  void note_access(int peer) {
    if (is_external(peer)) return;
    std::atomic<bool>& accessed = peers_[static_cast<size_t>(peer)].accessed;
    if (!accessed.load(std::memory_order_relaxed)) accessed.store(true, std::memory_order_relaxed);
  }
  /// Returns whether this process has sent something to that rank or accessed its memory.
  bool has_turned_to(int peer) const {
    const auto& p = peers_[static_cast<size_t>(peer)];
    return p.mapped.load(std::memory_order_relaxed) != nullptr || p.accessed.load(std::memory_order_relaxed);
  }
  segment_view own() const { return segment_->view(); }
  bool attach_works() const { return attach_works_; }
  attr_choice_t writes_lines() const { return writes_lines_; }
  attr_choice_t prefetches_lines() const { return prefetches_lines_; }
  attr_choice_t pauses_long() const { return pauses_long_; }

  /// The peer's segment, mapped by the first call. Throws peer_failure_error or resource_error.
  segment_view segment_of(int peer);

  struct place {
    uint32_t number;  // of a device, equal on all ranks
    uint32_t entry;   // index in the own segment
  };
  /// Allocates the place of the next device. Throws resource_error if there are too many.
  place open_device();

  /// Checks from time to time whether peers have died. Cheap enough for idle loops.
  void watch_peers();
  /// Number of peers that have failed so far; failure(i) returns them in the order of detection.
  size_t n_failures() const { return n_failures_.load(std::memory_order_acquire); }
  int failure(size_t i);
  bool has_failed(int peer) const {
    if (is_external(peer)) return !external_->connected(peer);
    return peers_[static_cast<size_t>(peer)].failed.load(std::memory_order_acquire);
  }
  /// Returns whether the peer has closed: it notifies us, or, if it does not know us, marks its own segment.
  bool has_left(int peer) const {
    if (own().close_flag_of(peer).load(std::memory_order_acquire) != 0) return true;
    const segment_view its = peers_[static_cast<size_t>(peer)].segment();
    return its.mapped() && its.close_flag_of(peer).load(std::memory_order_acquire) != 0;
  }

  /// Messages from that peer arrive: from now on it is monitored.
  void hear_of(int peer) {
    if (peer < 0 || is_external(peer)) return;
    if (!peers_[static_cast<size_t>(peer)].watched.load(std::memory_order_relaxed)) meet(peer);
  }

 private:
  /// The address data that a rank offers.
  struct offered {
    address where;
    rank_range nearby;
  };
  // Whoever reads the launcher's store sees no bytes that were in the memory of `offered` before.
  static_assert(std::has_unique_object_representations_v<offered>);
  struct peer {
    address where;                            // constant once known
    std::atomic<bool> known{false};           // R9: written after `where`
    std::atomic<bool> watched{false};         // or needs no monitoring
    std::atomic<std::byte*> mapped{nullptr};  // R10: written after `shape`
    lane_shape shape;
    mapping map;  // under mutex_
    std::unique_ptr<peer_heap> heap;
    process_watch watch;  // under watch_mutex_
    bool gone = true;     // under watch_mutex_: its end is known, or it is not monitored yet
    std::atomic<bool> failed{false};
    std::atomic<bool> accessed{false};

    /// Not mapped() if this process has not mapped it yet.
    segment_view segment() const {
      std::byte* const base = mapped.load(std::memory_order_acquire);  // A10: pairs with R10
      return base == nullptr ? segment_view() : segment_view(base, shape);
    }
  };

  void send_close();
  /// The peer, whose address is read if necessary. Throws bootstrap_error.
  peer& known(int rank) {
    peer& p = peers_[static_cast<size_t>(rank)];
    return LCI_LIKELY(p.known.load(std::memory_order_acquire)) ? p : learn(rank);  // A9: pairs with R9
  }
  LCI_COLD peer& learn(int rank);
  /// Stores what that rank has offered; returns whether that rank knew of us from the start.
  bool take_address(int rank, const std::string& offered);
  void watch(int rank);
  LCI_COLD void meet(int rank);

  address_exchange& exchange_;
  address_exchange::offer_id where_all_are_;
  int rank_;
  const bool may_attach_;
  const attr_choice_t writes_lines_, prefetches_lines_, pauses_long_;
  std::unique_ptr<own_segment> segment_;
  std::unique_ptr<shm::own_heap> heap_;
  size_t heap_size_;
  uint64_t probe_ = segment_magic;
  std::vector<peer> peers_;
  address mine_;
  rank_range nearby_;  // presumed ranks of this host, see settle()
  std::unique_ptr<shm::external_peers> external_;
  std::atomic<uint64_t> own_changes_{0};
  std::atomic<uint64_t>* changes_ = &own_changes_;  // points into the connection area if there is one
  bool attach_works_ = false;
  size_t n_slots_, data_size_;
  std::mutex mutex_;
  uint32_t next_device_ = 0;  // under mutex_
  std::mutex learn_mutex_;    // held while an address is filled in

  std::mutex watch_mutex_;
  std::atomic<uint64_t> next_watch_{0};  // milliseconds, steady clock
  std::vector<int> failures_;            // under watch_mutex_
  std::atomic<size_t> n_failures_{0};
};

}  // namespace lci::network::shm
