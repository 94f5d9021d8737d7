// The peers of a context that are outside of its job: how they come, and how they go.
//
// A connection begins with a request: one process writes its address into the other's connection area, and
// progress of the other one answers it. From then on both are alike: each has a seat in the other's area. It ends
// by a goodbye, by a death, or by this side's wish; then each device takes its lanes away, tells its
// sink, and after the last one the memory of the peer is unmapped and its id retired.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "network/fabric.hpp"
#include "network/shm/external_address.hpp"
#include "network/shm/process.hpp"

namespace lci::network::shm {

class context;

/// Thread-safe. May be called with a device's lock held, and calls no device.
class external_peers {
 public:
  external_peers(context& c, external_peer_book& book, const address& mine);
  ~external_peers();

  const external_peer_book& book() const { return book_; }
  connection_area_view connection_area() const { return connection_area_view(map_.base()); }
  std::string address_text() const { return to_text(mine_); }
  /// From now on nobody can knock.
  void close_file() { file_.close(); }
  /// Of devices that were made, the largest message they want to send.
  void need_room_for(size_t eager_size);

  // See network::context.
  int connect(const std::string& text);
  contact contact_with(int peer);
  void disconnect(int peer);

  /// Answers who knocks, hears answers and goodbyes. False if another thread is about to.
  bool look();
  /// Looks for deaths.
  void watch();

  bool connected(int peer) const {
    return at(peer).now.load(std::memory_order_acquire) == phase::connected;
  }
  /// 0 if the peer is not connected.
  int pid_of(int peer) const { return at(peer).pid.load(std::memory_order_relaxed); }

  /// How to reach a peer's devices. The memory is mapped until this device has dealt with the
  /// connection's end.
  struct route {
    segment_view segment;
    connection_area_view connection_area;
    seat_number there;
  };
  /// False if the peer is not connected.
  bool find_route(int peer, route& r);

  /// Calls f(peer, seat here) for all peers that are connected.
  template <class F>
  void for_each_connected(F f) {
    std::lock_guard guard(mutex_);
    for (int i = 0; i < n_seen_; ++i)
      if (all_[static_cast<size_t>(i)].now.load(std::memory_order_relaxed) == phase::connected)
        f(book_.first() + i, all_[static_cast<size_t>(i)].here);
  }

  /// A connection that has ended, to be dealt with by each device that was there.
  struct ending {
    uint64_t number;
    int peer;
    departure how;
    seat_number here;
    int pid;
    uint64_t start_time;
    int devices_left;
  };
  /// A device comes. What it gets is the number of the first ending that it will hear of.
  uint64_t add_device();
  void remove_device(uint64_t next_ending);
  /// False if there is none of that number yet.
  bool find_ending(uint64_t number, ending& e);
  /// One device has dealt with it.
  void dealt_with(uint64_t number);
  /// A lane whose receiver's end is about to be closed. Its sender's end is closed for it should it die.
  void look_after_lane(const ending& e, uint32_t lane);

 private:
  enum class phase : uint32_t { idle, knocking, connected, unsuccessful, ending, over };

  struct external_peer {
    std::atomic<phase> now{phase::idle};
    std::atomic<int> pid{0};
    // The rest under mutex_.
    external_address where;
    external_memory memory;
    seat_number here, there;
    std::unique_ptr<process_watch> watch;
    knock* at_door = nullptr;  // the request in the peer's area; null: all places there were taken
    contact result;            // unsuccessful
    bool dismissed = false;    // ending, over: the program has let go of the id
    departure how = departure::left;  // over
  };
  struct orphan {
    uint32_t lane, use;
    int pid;
    uint64_t start_time;
  };

  external_peer& at(int peer) const { return all_[static_cast<size_t>(peer - book_.first())]; }
  // All of the following under mutex_.
  int seat_for(const external_address& where, external_memory memory);
  void try_to_knock(external_peer& g);
  void hear_answer(int peer, external_peer& g);
  void answer(knock& k, int pid);
  refusal accept(const external_address& from, seat_number there, seat_number& here);
  refusal fault_of(const external_address& where, const external_memory& memory) const;
  void welcome(int peer, external_peer& g);
  void part(external_peer& g);
  void begin_end(int peer, external_peer& g, departure how);
  void finish(int peer, departure how);
  void forget_memory(external_peer& g);
  void tell_devices();

  context& context_;
  external_peer_book& book_;
  size_t room_needed_ = 0;
  memory_file file_;
  mapping map_;
  external_address mine_;
  std::unique_ptr<external_peer[]> all_;
  std::mutex mutex_;
  int n_seen_ = 0;                // under mutex_: all beyond were never used
  uint32_t next_connection_ = 1;  // under mutex_
  int n_devices_ = 0;             // under mutex_
  uint64_t next_ending_ = 0;      // under mutex_
  std::deque<ending> endings_;    // under mutex_: with devices left, the oldest first
  std::vector<orphan> orphans_;   // under mutex_
};

/// Makes the devices that this segment's owner has look at their changes.
void wake_devices(const segment_view& segment, const connection_area_view& connection_area);

}  // namespace lci::network::shm
