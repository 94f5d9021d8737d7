// Ids of peers outside the job, and the state of the connection to each.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "network/fabric.hpp"

namespace lci::core {

class runtime;

/// The peers of a runtime, which owns this object. Thread-safe. An id is reused as late as possible. The order of
/// allocation is: ids returned by disconnect(), oldest first; ids never used; ids of peers that closed the connection
/// themselves, since messages that such a peer has sent can be received until its id is reused.
class external_peers final : public network::external_peer_book {
 public:
  external_peers(runtime& rt, int first, int capacity, bool accepts);

  int admit() override;
  void on_connected(int peer) override;
  void retire(int peer, network::departure how) noexcept override;

  /// Returns whether posts to the peer are allowed. Sequentially consistent: a thread that adds an operation on the
  /// peer checks this afterwards; a thread that ends the operations on the peer calls end() before (open_gate()).
  bool connected(int peer) const { return at(peer).load(std::memory_order_seq_cst) == state::connected; }
  /// Afterwards connected() is false.
  void end(int peer, network::departure how);
  /// Throws the error of a post to a peer that isn't connected; returns if it is connected.
  LCI_COLD void check(int peer) const;
  /// Returns whether the id is assigned to no peer.
  bool is_free(int peer) const { return at(peer).load(std::memory_order_relaxed) == state::free; }

 private:
  enum class state : uint8_t { free, coming, connected, disconnected, left, died };

  std::atomic<state>& at(int peer) const { return states_[static_cast<size_t>(peer - first())]; }
  /// Removes what the id's previous peer has left, so that it isn't attributed to the next one.
  void clear(int peer);

  /// A list of ids, the oldest first. An id is in one list at most, and next_ has its successor, so appending one
  /// allocates nothing.
  struct id_list {
    int oldest = none, newest = none;
  };
  static constexpr int none = -1;
  int& next(int peer) { return next_[static_cast<size_t>(peer - first())]; }
  void append(id_list& to, int peer) noexcept;
  int take_oldest(id_list& from) noexcept;
  /// Does nothing if the id is not in the list.
  void remove(id_list& from, int peer) noexcept;

  runtime& rt_;
  std::unique_ptr<std::atomic<state>[]> states_;
  std::unique_ptr<int[]> next_;  // under mutex_; not initialised, so that its pages are used when the ids are
  std::mutex mutex_;
  id_list returned_;  // under mutex_
  id_list left_;      // under mutex_
  int n_used_ = 0;    // under mutex_: ids that were ever assigned
};

}  // namespace lci::core
