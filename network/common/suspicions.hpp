// Peers that seem to have failed: the network can't reach them, but they may only have freed their device.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "lib/base/cpu.hpp"
#include "network/common/failure_text.hpp"

namespace lci::network {

/// What a device keeps for each peer, so that suspecting one needs no memory. Only `suspicions` changes it.
struct suspicion {
  int rank = 0;
  bool pending = false;
  std::chrono::steady_clock::time_point since;
  std::unique_ptr<std::string> reason;
  suspicion* next = nullptr;
};

/// The suspected peers of a device. Thread-safe.
class suspicions {
 public:
  /// No effect if the peer is suspected already. `peer` must exist as long as this object.
  void add(suspicion& peer, int rank, const std::string& reason) {
    std::lock_guard guard(mutex_);
    if (peer.pending) return;
    peer.rank = rank;
    peer.pending = true;
    peer.since = std::chrono::steady_clock::now();
    peer.reason = copy_if_memory(reason);
    peer.next = first_;
    first_ = &peer;
  }
  /// Calls `settle(peer)` for each suspected peer; it returns whether the suspicion is settled.
  template <class F>
  void settle_all(F settle) {
    std::lock_guard guard(mutex_);
    for (suspicion** at = &first_; LCI_UNLIKELY(*at != nullptr);) {
      suspicion& peer = **at;
      if (!settle(static_cast<const suspicion&>(peer))) {
        at = &peer.next;
        continue;
      }
      *at = peer.next;
      peer.pending = false;
    }
  }

 private:
  std::mutex mutex_;
  suspicion* first_ = nullptr;  // under mutex_
};

}  // namespace lci::network
