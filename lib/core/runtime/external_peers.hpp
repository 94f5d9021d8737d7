// Peers outside of the job: which ids they have, and which of them can be talked to.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "network/fabric.hpp"

namespace lci::core {

class runtime;

/// Thread-safe. An id that was used waits as long as possible before another peer gets it: first those
/// are taken that were given back, the oldest first, then those never used, and last those whose peers
/// have left by themselves: what such a peer has sent can be received until then.
class external_peers final : public network::external_peer_book {
 public:
  external_peers(runtime& rt, int first, int capacity, bool accepts);

  int admit() override;
  void welcome(int peer) override;
  void retire(int peer, network::departure how) override;

  /// Whether the peer can be talked to. Sequentially consistent: who files something that waits for
  /// the peer asks afterwards, and who ends what waits for it calls end() before (device::open()).
  bool connected(int peer) const { return at(peer).load(std::memory_order_seq_cst) == state::connected; }
  /// From now on it can't.
  void end(int peer, network::departure how);
  /// Throws what is to be said of posts to a peer that isn't connected; nothing if it is.
  LCI_COLD void check(int peer) const;
  /// Whether the id belongs to nobody.
  bool is_free(int peer) const { return at(peer).load(std::memory_order_relaxed) == state::free; }

 private:
  enum class state : uint8_t { free, coming, connected, dismissed, left, died };

  std::atomic<state>& at(int peer) const { return states_[static_cast<size_t>(peer - first())]; }
  /// Nothing of the id's last peer shall be taken for the next one's.
  void clear(int peer);

  runtime& rt_;
  std::unique_ptr<std::atomic<state>[]> states_;
  std::mutex mutex_;
  std::deque<int> returned_;  // under mutex_, the oldest first
  std::deque<int> left_;      // under mutex_, the oldest first
  int n_used_ = 0;            // under mutex_: ids that were ever given out
};

}  // namespace lci::core
