// The table of connected processes, and the na_addr_t values that identify them.
#pragma once

#include <na.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "lib/base/cpu.hpp"
#include "lib/layers/na/identity.hpp"

namespace na {

/// The contents of an na_addr_t, which is not a pointer: class, the core's id of the peer, and a generation. Peers that
/// reuse the id later have other generations. So addresses own no memory, and stale or invented ones are detected.
struct addr {
  uint32_t rank = 0;
  uint32_t generation = 0;
};

/// Returns false for the address of an id that no peer has.
inline bool is_peer(addr a) { return (a.generation & 1) != 0; }

/// Fixed array of peers, by the core's id; id 0 is this process. Thread-safe. Its mutex guards names and identities;
/// generations are atomic, as each message reads one.
class address_book {
 public:
  static constexpr unsigned rank_bits = 20;

  /// For ids up to `last`. `number` is the class's, of which 8 bits are used.
  address_book(uint32_t last, uint32_t number);

  /// Assigns the id to a new peer. Returns its address; addresses of the previous peer are stale.
  na_addr_t assign(uint32_t rank, const identity& who, const std::string& name);
  /// Makes the addresses of a failed or disconnected peer stale. No effect if the id belongs to another peer already.
  void forget(addr peer);
  /// NA_ADDR_NULL if no peer is of that identity.
  na_addr_t find(const identity& who) const;
  /// Likewise by name. Finds also peers that do not listen.
  na_addr_t find(const std::string& name) const;
  /// Returns false if another peer has the id.
  bool name_of(addr peer, std::string* name) const;

  /// mark_of() the identity of the peer with this id. Unspecified if there is none.
  uint64_t mark(uint32_t rank) const { return peers_[rank].mark.load(std::memory_order_relaxed); }

  /// The address of the current peer with this id.
  na_addr_t of(uint32_t rank) const { return encode({rank, generation(rank)}); }
  addr current(uint32_t rank) const { return {rank, generation(rank)}; }
  /// of(), or NA_ADDR_NULL if no peer has this id.
  na_addr_t of_peer(uint32_t rank) const {
    const addr a = current(rank);
    return LCI_LIKELY(is_peer(a)) ? encode(a) : NA_ADDR_NULL;
  }
  /// Returns false if the value is no address of this class.
  bool decode(na_addr_t value, addr* to) const {
    const uint64_t v = reinterpret_cast<uint64_t>(value);
    to->rank = static_cast<uint32_t>(v >> 32) & ((uint32_t{1} << rank_bits) - 1);
    to->generation = static_cast<uint32_t>(v);
    return (v & ~((uint64_t{1} << 52) - 1)) == mark_ && to->rank <= last_ && is_peer(*to);
  }
  /// Returns whether the address is not stale.
  bool valid(addr peer) const { return generation(peer.rank) == peer.generation; }
  /// Returns whether the address is that of the peer that has the id, or had it last: messages that it sent before it
  /// left can still be received.
  bool is_last(addr peer) const { return ((generation(peer.rank) - 1) | 1) == peer.generation; }
  /// valid(), sequentially consistent, as forget() is.
  bool still_valid(addr peer) const {
    return peers_[peer.rank].generation.load(std::memory_order_seq_cst) == peer.generation;
  }
  uint32_t last() const { return last_; }

 private:
  struct peer {
    // Odd while there is a peer. assign() and forget() store with release, under the mutex. A1: generation() loads with
    // acquire, so a thread that reads a peer's generation also sees the peer's introduction.
    std::atomic<uint32_t> generation{0};
    std::atomic<uint64_t> mark{0};  // of `who`
    identity who{};
    std::string name;
  };

  na_addr_t encode(addr a) const {
    return reinterpret_cast<na_addr_t>(mark_ | static_cast<uint64_t>(a.rank) << 32 | a.generation);
  }
  uint32_t generation(uint32_t rank) const { return peers_[rank].generation.load(std::memory_order_acquire); }  // A1

  static constexpr uint64_t magic = uint64_t{0xa} << 60;  // differs from the top bits of all user-space pointers

  const uint32_t last_;
  const uint64_t mark_;
  const std::unique_ptr<peer[]> peers_;
  mutable std::mutex mutex_;
};

}  // namespace na
