// A whole job in one process: the ranks of a simulated network, their clock and their luck. Tests
// that link the static core use this header to break things and to see what happened.
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

/// splitmix64: the same numbers everywhere from the same seed.
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

/// When something happens: events of one tick happen in the order in which they were scheduled.
using moment = std::pair<uint64_t, uint64_t>;

/// What has happened in a world so far.
struct statistics {
  uint64_t ticks = 0;          ///< polls and waits of all devices
  uint64_t sent = 0;           ///< sends accepted
  uint64_t delivered = 0;      ///< messages handed to a sink
  uint64_t lost = 0;           ///< messages that died with a rank or a device
  uint64_t in_flight = 0;      ///< sent - delivered - lost, counted where they are
  uint64_t rma_posted = 0;     ///< puts and gets accepted
  uint64_t rma_applied = 0;    ///< of them, those that moved their bytes
  uint64_t rma_failed = 0;     ///< of them, those that ended in a failure
  uint64_t retries = 0;        ///< posts answered with a retry
  uint64_t registrations = 0;  ///< ranges registered now
  uint64_t devices = 0;        ///< devices alive now
};

/// Thread-safe: one mutex guards everything. Deterministic when a single thread drives all ranks:
/// every choice is drawn from one seeded source, in the order of calls. Lives as long as one of its
/// contexts does.
class world {
 public:
  world(size_t ranks, uint64_t seed);

  /// The world that was joined last, or null if it is gone.
  static std::shared_ptr<world> current();

  /// Cuts `rank`, or the station of that number, off from all others, for ever: what is in flight from or to it may vanish, each
  /// side hears that the other has failed.
  void kill(int rank);

  /// Where a rank's shared heap is, for all ranks of its host.
  void announce_heap(int rank, heap_window heap);
  heap_window heap_of(int rank) const;

  statistics stats() const;
  /// What was done against the contract, in words, the first hundred. A correct core causes none.
  std::vector<std::string> violations() const;
  /// Ranks of the world's job. Stations behind them are of runtimes that are jobs of their own.
  int size() const { return job_size_; }

  /// Of the job that has this station: its size, and the station of its rank 0.
  int job_size_of(int station) const;
  int base_of(int station) const;

  // Peers outside of the job (links.cpp): see network::context, of which `station` is the caller's.
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

  /// What a station has of a peer outside of its job.
  struct link {
    enum class phase { idle, knocking, connected, unsuccessful, ending, over };
    phase now = phase::idle;
    int station = -1;     // the peer's
    int there = -1;       // our id there
    uint64_t number = 0;  // knocking: tells attempts apart
    contact result = {};  // unsuccessful
    departure how = departure::left;  // ending
    bool dismissed = false;           // ending: the program has let go of the id
    int devices_left = 0;             // ending: those that have not said so yet
  };
  struct knock {
    int from, peer;
    uint64_t number;
    int to;
  };

  struct rank_state {
    std::vector<device*> devices;  // by index; null once destroyed
    bool cut_off = false;
    heap_window heap;
    int base = 0;      // station of its job's rank 0
    int job_size = 1;  // the ranks' stations follow each other
    external_peer_book* book = nullptr;  // null: can't be reached from outside of the job
    int n_contexts = 0;          // that have opened the book
    std::vector<link> links;     // by id
  };
  struct region {
    int rank;
    size_t device_index;
    uint64_t base, size;
    uint64_t stamp = 0;  // of pages_; 0: not looked at
  };
  struct transfer {  // a put or get on its way
    device* source;
    int target;  // station
    net_op op;
    std::vector<std::byte> payload;  // of a put whose source buffer was given back
    bool owns_payload = false;
    bool silent = false;  // no completion: posted with `inject`
  };

  // All of the following run under mutex_.
  moment at(uint64_t tick) { return {tick, sequence_++}; }
  /// A tick within the next `max_delay` polls of a device, if all devices poll equally often.
  uint64_t soon(uint64_t max_delay);
  /// Lets a tick pass.
  void advance();
  /// Puts and gets that are due happen now, whoever polls.
  void apply_due_transfers();
  void apply(transfer& t);
  /// Where the remote side of `op` lies, or null (and why) if the key doesn't allow it.
  std::byte* remote_memory(const net_op& op, int target, size_t device_index, size_t size,
                           std::string& why);
  // links.cpp
  link& link_of(int station, int peer);
  /// Where that peer is; -1 if it isn't connected.
  int station_of(int station, int peer);
  /// The id of a rank of the station's job, -1 for others.
  int peer_at(int station, int of);
  void answer_knocks(int station);
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
  /// Whether a part of `r` is the memory that was registered.
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
  std::map<moment, knock> knocks_;
  std::vector<rank_state> ranks_;
  std::map<uint64_t, region> regions_;  // by rkey; the lkey is its complement
  pinned_pages pages_;
  std::map<moment, transfer> transfers_;
  statistics stats_;
  std::vector<std::string> violations_;
};

/// Makes the caller the next rank of the world that is filling up, or rank 0 of a new one. Throws
/// invalid_argument_error if that world has another size or seed.
std::pair<std::shared_ptr<world>, int> join_world(size_t ranks, uint64_t seed);

/// Makes the caller a job of its own in the world that was joined last, or in a new one.
std::pair<std::shared_ptr<world>, int> join_world_alone(uint64_t seed);

/// Bytes of all segments of `op`.
size_t total_size(const net_op& op);

}  // namespace lci::network::sim
