// A whole job in one process: the ranks of a simulated network, their clock and random faults. Tests that link the
// static core use this header to inject faults and to inspect the world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "network/fabric.hpp"
#include "network/sim/pinned_pages.hpp"

namespace lci::network::sim {

class device;

/// splitmix64: a seed gives the same numbers everywhere.
class random_source {
 public:
  explicit random_source(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t up_to(uint64_t last) { return last == ~uint64_t{0} ? next() : next() % (last + 1); }
  bool percent(size_t p) { return next() % 100 < p; }

 private:
  uint64_t state_;
};

/// When something happens; events of one tick happen in the order in which they were scheduled.
using moment = std::pair<uint64_t, uint64_t>;

/// Counters of a world.
struct statistics {
  uint64_t ticks = 0;          ///< polls and waits of all devices
  uint64_t sent = 0;           ///< sends accepted
  uint64_t delivered = 0;      ///< messages passed to a sink
  uint64_t lost = 0;           ///< messages lost with a rank or a device
  uint64_t in_flight = 0;      ///< sent - delivered - lost, counted in the inboxes
  uint64_t rma_posted = 0;     ///< puts and gets accepted
  uint64_t rma_applied = 0;    ///< of them, those that moved their data
  uint64_t rma_failed = 0;     ///< of them, those that failed
  uint64_t retries = 0;        ///< posts that returned a retry
  uint64_t registrations = 0;  ///< currently registered ranges
  uint64_t devices = 0;        ///< existing devices
};

/// Thread-safe: one mutex protects everything. Deterministic if a single thread drives all ranks: every choice comes
/// from one seeded source, in the order of calls. Owned jointly by its contexts.
class world {
 public:
  world(size_t ranks, uint64_t seed);

  /// The world that was joined last, or null if it no longer exists.
  static std::shared_ptr<world> current();

  /// Permanently disconnects `rank`, or the station of that number, from all others: what is in flight from or to it
  /// may be lost, and each side gets a failure of the other.
  void kill(int rank);

  /// Sets where a rank's shared heap is, for all ranks of its host.
  void announce_heap(int rank, heap_window heap);
  heap_window heap_of(int rank) const;

  statistics stats() const;
  /// Descriptions of violations of the contract, the first hundred. A correct core causes none.
  std::vector<std::string> violations() const;
  /// Number of ranks of the world's job. Stations with higher numbers are runtimes that are jobs of their own.
  int size() const { return job_size_; }

  /// The size of the job that has this station, and the station of its rank 0.
  int job_size_of(int station) const;
  int base_of(int station) const;

  // Peers outside of the job (links.cpp): see network::context; `station` is the caller's.
  std::string address_of(int station) const;
  void open(int station, external_peer_book& book);
  void close(int station);
  int connect(int station, const std::string& address);
  contact contact_with(int station, int peer);
  void disconnect(int station, int peer);

 private:
  friend class device;
  friend std::pair<std::shared_ptr<world>, int> join_world(size_t ranks, uint64_t seed);
  friend std::pair<std::shared_ptr<world>, int> join_world_alone(uint64_t seed);

  /// A station's state of a peer outside of its job.
  struct link {
    enum class phase { idle, connecting, connected, unsuccessful, ending, over };
    phase now = phase::idle;
    int station = -1;                 // the peer's
    int there = -1;                   // our id there
    uint64_t number = 0;              // connecting: distinguishes attempts
    contact result = {};              // unsuccessful
    departure how = departure::left;  // ending
    bool released = false;            // ending: the program has released the id
    int devices_left = 0;             // ending: devices that have not reported it yet
  };
  struct connect_request {
    int from, peer;
    uint64_t number;
    int to;
  };

  struct rank_state {
    std::vector<device*> devices;  // by index; null once destroyed
    bool cut_off = false;
    heap_window heap;
    int base = 0;                        // station of its job's rank 0
    int job_size = 1;                    // the ranks' stations are consecutive
    external_peer_book* book = nullptr;  // null: not reachable from outside of the job
    int n_contexts = 0;                  // number of contexts that have opened the book
    std::vector<link> links;             // by id
  };
  struct region {
    int rank;
    size_t device_index;
    uint64_t base, size;
    uint64_t stamp = 0;      // of pages_; 0: not checked
    bool read_only = false;  // for peers
  };
  struct transfer {  // a put or get in flight
    device* source;
    int target;  // station
    net_op op;
    std::vector<std::byte> payload;  // data of a put whose source buffer was released
    bool owns_payload = false;
    bool silent = false;  // no completion: posted with `inject`
  };

  // All of the following run under mutex_.
  moment at(uint64_t tick) { return {tick, sequence_++}; }
  /// A tick within the next `max_delay` polls of each device, if all devices poll equally often.
  uint64_t soon(uint64_t max_delay);
  /// Advances the clock by one tick.
  void advance();
  /// Applies the puts and gets that are due, whichever device polls.
  void apply_due_transfers();
  void apply(transfer& t);
  /// To be called for a transfer that takes no effect: the target does not need the event that was reserved for it.
  void forget_notice(const transfer& t);
  /// The remote memory of `op`, or null (and why) if the key does not permit the access.
  std::byte* remote_memory(const net_op& op, int target, size_t device_index, size_t size, std::string& why);
  // links.cpp
  link& link_of(int station, int peer);
  /// The station of that peer; -1 if it is not connected.
  int station_of(int station, int peer);
  /// The id of a rank of the station's job, -1 for others.
  int peer_at(int station, int of);
  void answer_requests(int station);
  void begin_end(int station, int peer, departure how);
  void dealt_with(int station, int peer);
  void finish(int station, int peer, departure how);
  /// The device of `rank` with this index, or null.
  device* find(int rank, size_t index) const;
  bool departed(int rank, size_t index) const;
  bool separated(int a, int b) const;
  void violation(std::string what);
  uint64_t new_key();
  void forget(std::map<uint64_t, region>::iterator r);
  /// Returns whether a part of `r` is the memory that was registered.
  bool intact(const region& r, uint64_t base, size_t size) const {
    return r.stamp == 0 || pages_.intact(base, size, r.stamp);
  }

  mutable std::mutex mutex_;
  random_source random_;
  uint64_t clock_ = 0;
  uint64_t sequence_ = 0;
  const uint64_t number_;  // among the worlds of this process
  const int job_size_;
  int joined_ = 0;
  uint64_t n_links_ = 0;
  std::map<moment, connect_request> requests_;
  std::vector<rank_state> ranks_;
  std::map<uint64_t, region> regions_;  // by rkey; the lkey is its complement
  pinned_pages pages_;
  std::map<moment, transfer> transfers_;
  statistics stats_;
  std::vector<std::string> violations_;
};

/// Adds the caller as the next rank of the world that was joined last, if ranks are still missing there, or as rank 0
/// of a new one. Throws invalid_argument_error if the incomplete world has another size. A world keeps the seed of its
/// rank 0: those of later ranks are ignored.
std::pair<std::shared_ptr<world>, int> join_world(size_t ranks, uint64_t seed);

/// Adds the caller as a job of its own to the world that was joined last, or to a new one.
std::pair<std::shared_ptr<world>, int> join_world_alone(uint64_t seed);

/// Bytes of all segments of `op`.
size_t total_size(const net_op& op);

}  // namespace lci::network::sim
