// Adds peers outside of the job that run on other hosts to the network of a job.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "lib/base/cpu.hpp"
#include "network/common/outside.hpp"
#include "network/fabric.hpp"

namespace lci::network::routed {

/// Ranks, and peers outside of the job to which there is shared memory, use the job's network (`near`); other peers
/// outside of the job use `far`. Both take ids from one book. Made only for runtimes with such ids. As thread-safe as
/// its parts.
class with_outside final : public network::context {
 public:
  with_outside(std::unique_ptr<network::context> near, std::unique_ptr<outside_context> far)
      : near_(std::move(near)), far_(std::move(far)) {}

  void settle(acquaintance how) override { near_->settle(how); }
  void open() override { near_->open(); }
  attr_backend_t backend() const override { return near_->backend(); }
  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;
  heap_window own_heap() override { return near_->own_heap(); }
  void discard(std::byte* begin, size_t size) override { near_->discard(begin, size); }
  heap_window heap_of(int peer) override { return near_->heap_of(peer); }
  bool reaches(int peer) override { return near_->reaches(peer); }

  void open_to_external_peers(external_peer_book& book) override;
  /// The one that reaches this runtime from most places.
  std::string own_address() override;
  int connect(const std::string& address) override;
  contact contact_with(int peer) override;
  void disconnect(int peer) override { is_far(peer) ? far_->disconnect(peer) : near_->disconnect(peer); }

  bool is_far_used() const { return far_->is_used(); }
  bool is_far(int peer) const {
    return LCI_UNLIKELY(peer >= first_) && far_ids_[static_cast<size_t>(peer - first_)].load(std::memory_order_relaxed);
  }

 private:
  /// The book as one of the networks sees it: notes which of them has an id.
  class noting_book final : public external_peer_book {
   public:
    noting_book(with_outside& of, external_peer_book& book, bool far)
        : external_peer_book(book.first(), book.capacity(), book.accepts_external_peers()),
          of_(of),
          book_(book),
          far_(far) {}
    int admit() override;
    void on_connected(int peer) override { book_.on_connected(peer); }
    void retire(int peer, departure how) noexcept override { book_.retire(peer, how); }

   private:
    with_outside& of_;
    external_peer_book& book_;
    const bool far_;
  };
  std::atomic<bool>& far_id(int peer) { return far_ids_[static_cast<size_t>(peer - first_)]; }

  std::unique_ptr<noting_book> near_book_, far_book_;  // outlive the networks
  const std::unique_ptr<network::context> near_;
  const std::unique_ptr<outside_context> far_;
  int first_ = 0;
  /// By id: the far network has it, or had it last. Written by the network that is given the id, before anybody else
  /// knows it; so an id that stays with the program until disconnect() stays with its network.
  std::unique_ptr<std::atomic<bool>[]> far_ids_;
};

}  // namespace lci::network::routed
