// Failure detection for peers on other hosts. A network may report a failed peer to a sender, but not to a rank that
// only receives. So each rank keeps a TCP connection to each peer it has communicated with; the kernels on both sides
// monitor it, also while the programs compute.
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
#include "network/common/secret.hpp"
#include "network/fabric.hpp"

namespace lci::network {

/// One per context. Thread-safe once settled; no method waits for a peer. The connections carry only notifications of a
/// few bytes: a device has ended, or counts a rank as failed; or, as the last one, the context ends.
///
/// Any program can connect to the port. A rank that connects sends a token, which is a part of the offered address, and
/// is told that it is known. Connections without the token are bounded: the oldest makes room for another. A rank whose
/// connection was closed before it was known connects again.
class liveness {
 public:
  /// Offers the address on which this rank listens. `own_address`: an address of this host that peers can reach; family
  /// 0: the constructor looks for one. `timeout_s`: seconds after which a peer whose host does not answer counts as
  /// failed; 0: no peer is monitored.
  liveness(address_exchange& exchange, const sockaddr_storage& own_address, double timeout_s);
  /// Called once, after the publish().
  void settle(acquaintance how);
  ~liveness();

  /// From now on this rank monitors the peer. If there is no memory for that, a later call tries again.
  void meet(int rank) noexcept {
    if (!met_[static_cast<size_t>(rank)].load(std::memory_order_relaxed)) watch(rank);
  }

  /// How long a peer that can't be reached counts as undecided: it may have ended a moment ago, and its last messages
  /// may still be in flight.
  static constexpr std::chrono::milliseconds grace_period{300};

  /// State of a peer's process: not known and never will be; not known yet; alive, at least until a moment ago.
  enum class view : uint8_t { none, unsure, alive };
  LCI_COLD view view_of(int rank);

  /// Notifies all present and future watchers that the device has ended. For a network whose devices can't notify a
  /// peer with which they have never exchanged anything. All ranks number their devices alike.
  LCI_COLD void end_device(uint32_t number);
  /// Notifies `rank`, if its process is alive, that our device with this number counts it as failed. Returns false if
  /// that is not known yet: call it again later. Throws std::bad_alloc, and has no effect then.
  LCI_COLD bool give_up(int rank, uint32_t number);

  static constexpr int64_t all_devices = -1;
  struct departure {
    int rank;
    bool failed;  ///< if not, it has ended its context or one of its devices
    std::string reason;
    int64_t device = all_devices;  ///< the device that this is about
  };
  /// Polls the connections by a system call, so it should be called rarely.
  void poll();
  /// Calls `handle` for each departure not yet counted in `seen`, which begins at 0 and may be shared by threads: then
  /// two may handle the same one. One whose handling throws is handled again by the next call.
  template <class F>
  void handle_new(std::atomic<size_t>& seen, F handle) {
    size_t next = seen.load(std::memory_order_relaxed);
    while (LCI_UNLIKELY(next < n_departures_.load(std::memory_order_acquire))) {  // A1
      handle(departure_at(next));
      if (seen.compare_exchange_strong(next, next + 1, std::memory_order_relaxed)) ++next;
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  struct offered_address {
    sockaddr_storage listener{};  ///< family 0: the rank does not listen
    secret token{};
  };
  /// Our connection to a peer.
  struct watched {
    offered_address where;
    socket_handle connection;  // none: the peer is undecided, or the connection is to be retried
    clock::time_point since;   // start of the attempt to connect; or, if `reason` is set, of the suspicion
    clock::time_point again;   // when to retry
    bool connected = false;
    bool known = false;    // the peer has received our token
    int n_dropped = 0;     // connections that the peer's host has closed before
    std::string reason;    // why the peer is undecided
    std::string received;  // an incomplete notification
  };
  /// A connection to our listener.
  struct watcher {
    socket_handle connection;
    clock::time_point since;
    bool known = false;  // it has sent our token
    size_t n_received = 0;
    secret received{};  // a part of the token
  };

  LCI_COLD void watch(int rank) noexcept;
  void begin_to_watch(int rank);
  static offered_address address_in(const std::string& offered);
  departure departure_at(size_t i);
  void accept_all();  // under mutex_
  /// Receives the token of a watcher that is not known yet. Returns false if the connection has ended, or what it has
  /// sent is no part of the token.
  bool read_token(watcher& w);  // under mutex_
  /// Handles an event of a watcher's connection.
  void handle_watcher(int fd);  // under mutex_
  /// Closes the connection that has been without a token for longest, if that is at least `age`, unless its token has
  /// just arrived. Returns false if there is none.
  bool close_stranger(clock::duration age);            // under mutex_
  void handle(int rank, watched& w, uint32_t events);  // under mutex_
  void handle_due();                                   // under mutex_
  /// Starts to connect. Returns 0 or the error.
  int connect(int rank, watched& w);                                              // under mutex_
  void depart(int rank, bool failed, const std::string& why);                     // under mutex_
  void add_departure(int rank, bool failed, const char* why, int64_t of_device);  // under mutex_
  /// Handles the notifications received from a peer. Returns false if that was the last one, so that `w` no longer
  /// exists.
  bool take_notes(int rank, watched& w);  // under mutex_
  /// Sends a notification to all present and future watchers. Throws std::bad_alloc, and has no effect then.
  void notify(const std::string& note);  // under mutex_

  address_exchange& exchange_;
  address_exchange::offer_id where_all_listen_;
  const int own_rank_;
  const clock::duration timeout_;
  secret token_{};
  std::vector<offered_address> where_;  // empty: read when a peer is first met
  std::unique_ptr<std::atomic<bool>[]> met_;
  socket_handle listener_, events_;

  std::mutex mutex_;
  std::unordered_map<int, watched> watched_;   // under mutex_
  std::unordered_map<int, watcher> watchers_;  // under mutex_, by descriptor
  size_t n_unknown_ = 0;                       // under mutex_: watchers that have not sent the token
  std::unordered_set<int> undecided_;          // under mutex_: connecting, or suspected
  std::string notes_;                          // under mutex_: all so far, for connections made later
  std::vector<departure> departures_;          // under mutex_; in the order detected
  std::atomic<size_t> n_departures_{0};
  bool warned_ = false;  // under mutex_
};

}  // namespace lci::network
