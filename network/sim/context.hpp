// What the devices of one rank of a simulated job share.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "network/sim/world.hpp"

namespace lci::network::sim {

/// Ranks of one simulated host map each other's shared heaps, as all of them are in this process.
class context final : public network::context {
 public:
  context(std::shared_ptr<world> w, int rank, const net_context_attr_t& attr)
      : world_(std::move(w)), rank_(rank), attr_(attr) {}
  ~context() override;

  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;
  heap_window own_heap() override;
  void discard(std::byte* begin, size_t size) override;
  heap_window heap_of(int peer) override;

  void open_to_external_peers(external_peer_book& book) override;
  std::string own_address() override { return book_ == nullptr ? "" : world_->address_of(rank_); }
  int connect(const std::string& to) override {
    return book_ == nullptr ? network::context::connect(to) : world_->connect(rank_, to);
  }
  contact contact_with(int peer) override { return world_->contact_with(rank_, peer); }
  void disconnect(int peer) override { world_->disconnect(rank_, peer); }

 private:
  std::shared_ptr<world> world_;
  int rank_;  // the station of this rank
  external_peer_book* book_ = nullptr;
  net_context_attr_t attr_;
  heap_window heap_;
};

}  // namespace lci::network::sim
