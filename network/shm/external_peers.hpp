// Peers outside of the context's job: connecting and disconnecting.
//
// A connection begins with a request: a process writes its address into the other's connection area, and the other
// one's progress answers it. From then on both sides are equal: each has a slot in the other's area. The connection
// ends by a close notification, by the death of a process, or because this side closes it. Then each device releases
// its lanes and reports to its sink; after the last device the peer's memory is unmapped and its id retired.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "network/fabric.hpp"
#include "network/shm/external_address.hpp"
#include "network/shm/process.hpp"

namespace lci::network::shm {

class context;

/// Thread-safe. May be called while a device's lock is held, and does not call devices.
class external_peers {
 public:
  external_peers(context& c, external_peer_book& book, const address& mine);
  ~external_peers();

  const external_peer_book& book() const { return book_; }
  connection_area_view connection_area() const { return {map_.base(), static_cast<uint32_t>(book_.capacity())}; }
  std::string address_text() const { return to_text(mine_); }
  /// After this no process can request a connection.
  void close_file() { file_.close(); }
  /// Called for each device, with the size of its largest message.
  void need_room_for(size_t largest_message);

  // The functions of network::context of the same names.
  int connect(const std::string& text);
  contact contact_with(int peer);
  void disconnect(int peer);

  /// Answers requests, and handles answers and close notifications. Returns false if another thread holds the lock.
  bool look();
  /// Checks for dead processes.
  void watch();

  bool connected(int peer) const { return at(peer).now.load(std::memory_order_acquire) == phase::connected; }
  /// 0 if the peer is not connected.
  int pid_of(int peer) const { return at(peer).pid.load(std::memory_order_relaxed); }

  /// What is needed to reach a peer's devices. The memory stays mapped until the calling device has handled the
  /// connection's end.
  struct route {
    segment_view segment;
    connection_area_view connection_area;
    slot_number there;
  };
  /// Returns false if the peer is not connected.
  bool find_route(int peer, route& r);

  /// Calls f(peer, slot here) for all connected peers.
  template <class F>
  void for_each_connected(F f) {
    std::lock_guard guard(mutex_);
    for (int i = 0; i < n_seen_; ++i)
      if (all_[static_cast<size_t>(i)].now.load(std::memory_order_relaxed) == phase::connected)
        f(book_.first() + i, all_[static_cast<size_t>(i)].here);
  }

  /// A connection that has ended; each device that existed then must handle it.
  struct ending {
    uint64_t number;
    int peer;
    departure how;
    slot_number here;
    int pid;
    uint64_t start_time;
    int devices_left;
  };
  /// Registers a device; returns the number of the first ending that it must handle.
  uint64_t add_device();
  void remove_device(uint64_t next_ending);
  /// Returns false if no ending with that number exists yet.
  bool find_ending(uint64_t number, ending& e);
  /// Records that one device has handled the ending.
  void dealt_with(uint64_t number);
  /// Reserves memory for the next look_after_lane().
  void make_room_for_lane();
  /// Registers a lane whose receiver's end is about to be closed; if its sender dies, the sender's end is closed here.
  void look_after_lane(const ending& e, uint32_t lane);

 private:
  enum class phase : uint32_t { idle, requesting, connected, unsuccessful, ending, over };

  struct external_peer {
    std::atomic<phase> now{phase::idle};
    std::atomic<int> pid{0};
    // The rest under mutex_.
    external_address where;
    external_memory memory;
    slot_number here, there;
    std::unique_ptr<process_watch> watch;
    std::list<ending> end;                  // one entry, for endings_: an end can't wait for memory
    connection_request* request = nullptr;  // in the peer's area; null: no free one was found yet
    contact result;                         // of an unsuccessful attempt
    bool released = false;                  // ending, over: the program has released the id
    departure how = departure::left;        // over
  };
  struct orphan {
    uint32_t lane, use;
    int pid;
    uint64_t start_time;
  };

  external_peer& at(int peer) const { return all_[static_cast<size_t>(peer - book_.first())]; }
  // All of the following under mutex_.
  int slot_for(const external_address& where, external_memory memory);
  void try_to_request(external_peer& p);
  void read_answer(int peer, external_peer& p);
  void answer(connection_request& request, int pid);
  refusal accept(const external_address& from, slot_number there, slot_number& here);
  refusal fault_of(const external_address& where, const external_memory& memory) const;
  void complete(int peer, external_peer& p);
  void part(external_peer& p);
  void begin_end(int peer, external_peer& p, departure how);
  void finish(int peer, departure how);
  void forget_memory(external_peer& p);
  void notify_devices();

  context& context_;
  external_peer_book& book_;
  size_t room_needed_ = 0;
  memory_file file_;
  mapping map_;
  external_address mine_;
  std::unique_ptr<external_peer[]> all_;
  std::mutex mutex_;
  int n_seen_ = 0;                // under mutex_: higher indices were never used
  uint32_t next_connection_ = 1;  // under mutex_
  int n_devices_ = 0;             // under mutex_
  uint64_t next_ending_ = 0;      // under mutex_
  std::list<ending> endings_;     // under mutex_: not yet handled by all devices, oldest first
  std::vector<orphan> orphans_;   // under mutex_
};

/// Wakes the devices of this segment's owner so that they handle changes.
void wake_devices(const segment_view& segment, const connection_area_view& connection_area);

}  // namespace lci::network::shm
