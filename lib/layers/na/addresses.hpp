// The processes that this one knows, and the values of type na_addr_t, which stand for them.
#pragma once

#include <na.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "lib/layers/na/identity.hpp"

namespace na {

/// A value of na_addr_t: no pointer, but the class, the core's id of the peer, and a generation that tells the peer
/// from those that have the id later. So addresses need no memory, and one that is stale or invented is recognised.
struct addr {
  uint32_t rank = 0;
  uint32_t generation = 0;
};

/// Fixed array of peers, by the core's id; the own process is 0. Thread-safe. Its mutex guards names and identities;
/// generations are atomic, as each message reads one.
class address_book {
 public:
  static constexpr unsigned rank_bits = 20;

  /// For ids up to `last`. `number` is the class's, of which 8 bits are used.
  address_book(uint32_t last, uint32_t number);

  /// The peer with this id is another one from now on. Returns its address.
  na_addr_t assign(uint32_t rank, const identity& who, const std::string& name);
  /// The peer with this id has gone, if it is still that one: its addresses are stale.
  void forget(addr peer);
  /// NA_ADDR_NULL if no peer is of that identity.
  na_addr_t find(const identity& who) const;
  /// Likewise by name, which tells processes that do not listen.
  na_addr_t find(const std::string& name) const;
  /// False: the address is stale.
  bool name_of(addr peer, std::string* name) const;

  /// The address of the peer that has the id now.
  na_addr_t of(uint32_t rank) const { return encode({rank, generation(rank)}); }
  addr current(uint32_t rank) const { return {rank, generation(rank)}; }
  /// False if the value is no address of this class.
  bool decode(na_addr_t value, addr* to) const;
  /// Whether the peer is still there.
  bool valid(addr peer) const { return generation(peer.rank) == peer.generation; }
  /// The same, sequentially consistent, as forget() is.
  bool still_valid(addr peer) const {
    return peers_[peer.rank].generation.load(std::memory_order_seq_cst) == peer.generation;
  }
  uint32_t last() const { return last_; }

 private:
  struct peer {
    // Odd while there is a peer. Release in assign() and forget(), with the mutex; A1: acquire in generation(), so that
    // who sees a peer's generation sees what was received before it.
    std::atomic<uint32_t> generation{0};
    identity who{};
    std::string name;
  };

  na_addr_t encode(addr a) const {
    return reinterpret_cast<na_addr_t>(mark_ | static_cast<uint64_t>(a.rank) << 32 | a.generation);
  }
  uint32_t generation(uint32_t rank) const { return peers_[rank].generation.load(std::memory_order_acquire); }  // A1

  const uint32_t last_;
  const uint64_t mark_;
  const std::unique_ptr<peer[]> peers_;
  mutable std::mutex mutex_;
};

}  // namespace na
