// Who of the peers on other hosts still runs. Networks tell a sender that its peer is gone, if at all,
// and whoever only waits nothing: so there is a TCP connection to each peer that was met, on which the
// kernels at both ends keep watch, also while the programs compute.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/base/cpu.hpp"
#include "network/common/liveness_socket.hpp"
#include "network/fabric.hpp"

namespace lci::network {

/// One per context. Thread-safe once settled; no method waits for a peer. Nothing is ever sent but notes of a few
/// bytes: that a device has ended, and last that the context ends.
class liveness {
 public:
  /// Offers where it listens. `own_address`: an address of this host that peers reach; family 0: one is looked
  /// for. `timeout_s`: after which a peer counts as dead whose host does not answer; 0: nobody is watched.
  liveness(address_exchange& exchange, const sockaddr_storage& own_address, double timeout_s);
  /// Once, when that is published.
  void settle(acquaintance how);
  ~liveness();

  /// From now on the peer is watched.
  void meet(int rank) {
    if (!met_[static_cast<size_t>(rank)].load(std::memory_order_relaxed)) watch(rank);
  }

  /// A peer that is not there may have left a moment ago, and its last messages be on their way to us.
  static constexpr std::chrono::milliseconds benefit_of_doubt{300};

  /// What is known of a peer's process: nothing, and nothing will be; nothing yet; that it lives, or did just now.
  enum class view : uint8_t { none, unsure, alive };
  LCI_COLD view view_of(int rank);

  /// Tells all who watch, and will, that the device has ended. For a network whose devices can't say so themselves
  /// to a peer with which they have never exchanged anything. Devices are numbered alike by all ranks.
  LCI_COLD void end_device(uint32_t number);

  static constexpr int64_t all_devices = -1;
  struct departure {
    int rank;
    bool died;  ///< if not, it has ended its context, or a device of it
    std::string reason;
    int64_t device = all_devices;  ///< the one that has ended
  };
  /// Sees what has happened since. A system call: for now and then.
  void look();
  /// Calls `tell` with each departure that was not told by `seen`, which begins at 0, may be shared by
  /// threads, and counts them.
  template <class F>
  void tell(std::atomic<size_t>& seen, F tell) {
    size_t told = seen.load(std::memory_order_relaxed);
    while (LCI_UNLIKELY(told < n_departures_.load(std::memory_order_acquire)))  // A1
      if (seen.compare_exchange_weak(told, told + 1, std::memory_order_relaxed)) tell(departure_at(told++));
  }

 private:
  using clock = std::chrono::steady_clock;
  /// Our connection to a peer.
  struct watched {
    sockaddr_storage where;
    socket_handle connection;  // none: it is in doubt, or to be tried again
    clock::time_point since;   // connecting since; or, if `reason` is set, in doubt since
    clock::time_point again;   // when to try again
    bool connected = false;
    std::string reason;        // why it is in doubt
    std::string said;          // the begin of a note
  };

  LCI_COLD void watch(int rank);
  /// Where a peer listens, of family 0 if it does not.
  static sockaddr_storage address_in(const std::string& offered);
  departure departure_at(size_t i);
  void accept_all();                                        // under mutex_
  void handle(int rank, watched& w, uint32_t events);       // under mutex_
  void handle_due();                                        // under mutex_
  /// Begins to connect; how that failed, or 0.
  int connect(int rank, watched& w);                        // under mutex_
  void depart(int rank, bool died, const std::string& why);  // under mutex_
  void add_departure(departure what);                        // under mutex_
  /// Takes the notes of what a peer has said. False: that was its last, and `w` is no more.
  bool take_notes(int rank, watched& w);                     // under mutex_

  address_exchange& exchange_;
  address_exchange::ticket where_all_listen_;
  const int own_rank_;
  const clock::duration timeout_;
  std::vector<sockaddr_storage> where_;  // empty: asked for when a peer is met
  std::unique_ptr<std::atomic<bool>[]> met_;
  socket_handle listener_, events_;

  std::mutex mutex_;
  std::unordered_map<int, watched> watched_;             // under mutex_
  std::unordered_map<int, socket_handle> watchers_;      // under mutex_, by descriptor: peers' ends
  std::unordered_set<int> undecided_;                    // under mutex_: connecting, or in doubt
  std::string notes_;                                    // under mutex_: of our devices that have ended
  std::vector<departure> departures_;                    // under mutex_; as they were seen
  std::atomic<size_t> n_departures_{0};
  bool warned_ = false;                                  // under mutex_
};

}  // namespace lci::network
