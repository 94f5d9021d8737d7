// The contract between the core and a network. A backend is one folder that implements these few
// classes; the core knows nothing else of it. Limits are data, never assumptions.
//
// Threads: a context is set up and torn down by one thread. Every method of a device may be called
// by any number of threads at once, except the destructor; none of them blocks. What would need a
// lock that another thread holds answers `retry_lock`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lci/attributes.hpp"
#include "lci/direct.hpp"
#include "lci/types.hpp"
#include "network/exchange.hpp"

namespace lci::network {

/// What a device can do. Read once after it was made; never changes.
struct limits {
  size_t max_inject = 0;  ///< largest send with `inject` (sum of its segments)
  size_t max_send = 0;    ///< largest send (sum of its segments)
  size_t max_rma = 0;     ///< largest put or get
  bool rma = false;       ///< put and get are served; if not, the core emulates them by messages
  bool put_imm = false;   ///< put accepts `has_imm`
  bool put_then_send_ordered = false;  ///< a send posted after a put to the same peer arrives
                                       ///< after the put's data, without waiting in between
  bool ordered = false;        ///< sends of one thread to one peer arrive in posting order
  bool sends_land_at_once = false;  ///< a send that says `done` is in the target's memory
  bool local_registration = false;  ///< segments of posted operations need an lkey
  bool pins_memory = false;  ///< registering takes time and room, and is for the pages that are there
                             ///< then; if not, a registration is but a name for a range
  size_t receive_buffers = 0;  ///< buffers the core must keep posted with post_recv(); 0: none
};

enum class verb : uint8_t { send, put, get };

/// A piece of local memory. `lkey` comes from register_memory(), 0 where none is needed.
struct segment {
  void* base;
  size_t size;
  uint64_t lkey;
};
constexpr int max_segments = 2;

/// What the core puts before every message, as two words: it travels in registers.
struct message_head {
  uint64_t words[2];
};

/// One request to the network. All posting goes through this one struct. More than one segment: only
/// with `inject`.
struct net_op {
  verb kind = verb::send;
  bool inject = false;   ///< the segments are free when post() returns; no completion event comes
  bool has_imm = false;  ///< put only: the target gets on_remote_write(peer, imm)
  uint8_t n_segments = 0;
  uint32_t imm = 0;
  int peer = 0;
  bool urgent = false;  ///< a message of the library's own, by which others' operations end: it may take
                         ///< the room that a network keeps for such
  std::array<segment, max_segments> segments;  ///< source of send/put, destination of get
  uint64_t remote_addr = 0;                    ///< put/get: address at the peer
  uint64_t remote_key = 0;                     ///< put/get: rkey of the peer's registration
  void* context = nullptr;                     ///< comes back with on_complete()
};

/// A registered range of local memory.
struct registration {
  uint64_t lkey = 0;
  uint64_t rkey = 0;  ///< never 0 once registered
  void* handle = nullptr;
};

/// How a connection with a peer outside of the job has ended: this side has ended it, the other side
/// has, or its process has died.
enum class departure : uint8_t { dismissed, left, died };

/// Where poll() puts what happened. Implemented by the core. Methods may post, never poll.
class event_sink {
 public:
  /// A message. `data` may be read until the call returns. If the device takes receive buffers,
  /// `recv_context` is the buffer's context and the buffer belongs to the core again.
  virtual void on_recv(int peer, const std::byte* data, size_t size, void* recv_context) = 0;
  /// A posted operation (post() said `posted`) is complete: the segments of a send are free, a get's are filled; what
  /// a put brings is in the target's memory, or, if it tells the target by `has_imm`, its segments are free.
  virtual void on_complete(void* context) = 0;
  /// A put with immediate data from `peer` has landed here.
  virtual void on_remote_write(int peer, uint32_t imm) = 0;
  /// `peer` is gone. Said once per peer. Operations posted to it will not complete.
  virtual void on_peer_failure(int peer, const char* reason) = 0;
  /// The connection with `peer`, which is no rank of the job, has ended: nothing more will come from
  /// it, and operations posted to it will not complete. Said once per connection, to each device that
  /// was there when it ended. (Ranks of the job fail, see above, or leave without a word.)
  virtual void on_peer_departure(int peer, departure how) { (void)peer, (void)how; }
  /// `peer` has freed its device: nothing more will come from that, and what is posted to it is not answered.
  /// Said once, after the last message, to a device that has exchanged something with it. (Where `peer` is no
  /// rank of the job, on_peer_departure() says it.)
  virtual void on_device_end(int peer) { (void)peer; }
  /// A posted operation failed with its peer; comes before or after on_peer_failure().
  virtual void on_operation_failure(void* context, int peer) = 0;

 protected:
  ~event_sink() = default;
};

/// Of another process, for its messages.
enum class attention : uint8_t {
  unknown,  ///< it may be at work elsewhere for long
  needed,   ///< so it may be, but also a get of its memory waits for its polls, as a put of its own does
  polls,    ///< it polls its device: what it is asked for it does at once
  streams,  ///< it polls, and this is asked again and again, with no vain poll here in between
  waits     ///< so it does, and it has polled in vain in between
};

class device {
 public:
  virtual ~device() = default;

  const limits& get_limits() const { return limits_; }

  /// `done` (finished, no event), `posted` (on_complete follows), `retry_lock`, `retry_nomem`
  /// (nothing happened), or `fatal`: the peer has failed, left or freed its device, which on_peer_failure(),
  /// on_peer_departure() or on_device_end() has told or a later poll tells. Throws resource_error if the system refuses
  /// a put or get to a peer that lives: it will not complete, and nobody was told.
  virtual errorcode_t post(const net_op& op) = 0;

  /// The send that is posted most, by its arguments alone: `head`, then `size` bytes of `payload`,
  /// both free on return. Together they are at most `max_inject`. As post(), but never `posted`.
  /// Not every fabric has a way of its own for it: by default it is a post().
  virtual errorcode_t inject(int peer, message_head head, const void* payload, size_t size);

  /// Once, after the publish() that has told peers of this device (its maker has offered what they must know,
  /// and leaves publish() to whom it was made for), before anything else. The limits are known from then on.
  virtual void settle(acquaintance how) { (void)how; }

  /// Hands up to about `max_events` events to the sink. Returns how many, or -1 if other threads
  /// held all that could be polled.
  virtual int poll(event_sink& sink, int max_events) = 0;

  /// Once, before anything is sent, and after the first receive buffers were posted. Collective.
  virtual void start() {}

  /// Offers a buffer for one incoming message. `done` or `retry_*`. See limits::receive_buffers.
  virtual errorcode_t post_recv(segment buffer, void* context) {
    (void)buffer, (void)context;
    return errorcode_t::fatal;
  }

  /// Throws resource_error if the system refuses. Thread-safe.
  virtual registration register_memory(void* base, size_t size) = 0;
  virtual void deregister_memory(const registration& reg) = 0;

  /// Sleeps until poll() may find something, at most `timeout_us`. May return early.
  virtual void wait(int64_t timeout_us) = 0;

  /// The sleep of a progress thread, of which a device has one at most: as wait(), but an unpark()
  /// ends it, or the next one if there is none under way. Here a short wait(), for a network whose
  /// sleepers can't be woken.
  virtual void park(int64_t timeout_us) { wait(std::min<int64_t>(timeout_us, 1000)); }
  virtual void unpark() {}

  /// What that peer's process is doing just now, as far as this network lets one process see another.
  /// Asked when it wants to send something large, which both could copy. Thread-safe.
  virtual attention attention_of(int peer) { return (void)peer, attention::unknown; }

  /// Whether something was exchanged with that peer, which has failed, or was to be. Others need not be told.
  virtual bool has_met(int peer) { return (void)peer, true; }

  /// True when everything this device has sent has left it (nothing of it waits in our memory for
  /// a peer to fetch). Asked before the device is destroyed, again and again until it is so, and after nothing
  /// is posted any more but answers: the first question may tell the peers that this device goes.
  virtual bool flushed() { return true; }

 protected:
  limits limits_;
};

/// The core's list of peers outside of the job, and of their ids, which follow those of the job's
/// ranks. Thread-safe; its methods call nothing of the network.
class external_peer_book {
 public:
  int first() const { return first_; }        ///< the smallest id
  int capacity() const { return capacity_; }  ///< how many ids there are
  bool accepts_strangers() const { return accepts_strangers_; }

  /// An id for a connection that is about to be made; -1 if all are taken.
  virtual int admit() = 0;
  /// The connection is made: from now on the program may post to the id.
  virtual void welcome(int peer) = 0;
  /// The connection has ended, all devices have been told, and nothing of it will come any more.
  virtual void retire(int peer, departure how) = 0;

 protected:
  external_peer_book(int first, int capacity, bool accepts)
      : first_(first), capacity_(capacity), accepts_strangers_(accepts) {}
  ~external_peer_book() = default;

 private:
  const int first_;
  const int capacity_;
  const bool accepts_strangers_;
};

/// What has become of an attempt to connect.
struct contact {
  enum class state : uint8_t { under_way, made, refused, gone };
  state what = state::under_way;
  std::string reason;  ///< `refused`, `gone`: in words, with the remedy
};

using detail::heap_window;

/// One per runtime. Owns what devices share.
class context {
 public:
  virtual ~context() = default;

  /// Once, after the publish() that has told peers of this context, before anything else but making a device
  /// and open_to_external_peers(). Of a context that is part of another.
  virtual void settle(acquaintance how) { (void)how; }
  /// Sees to that, for a context that is no part of another, unless its first device does. Collective.
  virtual void open() {}
  /// What leads to other hosts, where that is known by then only; none: what it was opened as.
  virtual attr_backend_t backend() const { return attr_backend_t::none; }

  /// The k-th device of a rank talks to the k-th device of every other rank.
  /// `eager_size`: the largest eager message the core wants to send, its wire header included.
  virtual std::unique_ptr<device> create_device(const device_attr_t& attr, size_t eager_size) = 0;

  /// This rank's shared heap, made by the first call: sparse, zero, mapped as long as the context
  /// lives. Throws resource_error if the system refuses. By one thread at a time.
  virtual heap_window own_heap() { return {}; }
  /// Gives whole pages of the own heap back to the system; they read as zero afterwards.
  virtual void discard(std::byte* begin, size_t size) { (void)begin, (void)size; }
  /// Where the heap of `peer`, which has one, is in this process; empty if that runs on another
  /// host. Throws resource_error, or peer_failure_error. By one thread at a time.
  virtual heap_window heap_of(int peer) { return (void)peer, heap_window{}; }

  /// Whether this network leads to that rank. Both ends answer alike, and each rank of such a pair leads
  /// to the same others.
  virtual bool reaches(int peer) { return (void)peer, true; }

  // --- peers outside of the job; see external_peer_book. Thread-safe, and callable inside of a sink ---

  /// Lets such peers be connected, and come if the book says so. Before the first device is made, at
  /// most once; never called where there shall be none.
  virtual void open_to_external_peers(external_peer_book& book) { (void)book; }
  /// By this printable text contexts of other processes find this one. Empty: they can't.
  virtual std::string own_address() { return {}; }
  /// Begins to connect with the context of that address, and returns the id that it will have; the own
  /// rank if the address is this context's. Never waits. Throws invalid_argument_error if the text is
  /// no address of this network, resource_error if there is no id left.
  virtual int connect(const std::string& address);
  /// How that goes. After `refused` and `gone` the id is no longer the caller's.
  virtual contact contact_with(int peer) { return (void)peer, contact{}; }
  /// Ends a connection, or an attempt to connect: the peer is told, poll() tells the sinks. The id is
  /// retired then. No effect on one that is not in use, or is being retired.
  virtual void disconnect(int peer) { (void)peer; }
};

/// Whether a backend can be used here.
struct usability {
  std::string why_not;       ///< empty if it can, else the reason and the remedy (shown by lci_info)
  bool last_choice = false;  ///< another one between hosts, if it can be used, serves better
  bool refused = false;      ///< the system refuses what it takes: another time it may not
};

/// A backend's entry in the table of backends (network/fabrics.cpp).
struct fabric {
  attr_backend_t id;
  const char* name;
  usability (*look)(const net_context_attr_t& attr);
  std::unique_ptr<context> (*create)(address_exchange& exchange, const net_context_attr_t& attr);
  /// Where ranks come from, if not from the process's bootstrap (sim: several ranks a process).
  std::unique_ptr<address_exchange> (*own_exchange)(const net_context_attr_t& attr) = nullptr;
  /// The same for a runtime that is a job of its own, in reach of the others.
  std::unique_ptr<address_exchange> (*own_lone_exchange)(const net_context_attr_t& attr) = nullptr;
};

/// All backends built into this library, best first.
const std::vector<fabric>& fabrics();

}  // namespace lci::network
