// The contract between the core and a network. A backend is one folder that implements these classes; the core knows
// nothing else about it. Limits are data, never assumptions.
//
// Threads: one thread sets up and tears down a context. Any number of threads may call any method of a device at once,
// except the destructor. Only wait() and park() block: a post that needs a lock of another thread returns `retry_lock`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lci/attributes.hpp"
#include "lci/counters.hpp"
#include "lci/direct.hpp"
#include "lci/errors.hpp"
#include "lci/types.hpp"
#include "network/exchange.hpp"

namespace lci::network {

/// What a device can do. Read once after the device was made; never changes.
struct limits {
  size_t max_inject = 0;               ///< largest send with `inject` (sum of its segments) to any peer
  size_t max_send = 0;                 ///< largest send (sum of its segments)
  size_t max_rma = 0;                  ///< largest put or get
  bool rma = false;                    ///< the device serves put and get; if not, the core emulates them by messages
  bool put_imm = false;                ///< put accepts `has_imm`
  bool put_then_send_ordered = false;  ///< a send posted after a put to the same peer arrives after the put's data,
                                       ///< without waiting for the put to complete
  bool ordered = false;                ///< sends of one thread to one peer arrive in posting order
  size_t max_ordered_put = 0;       ///< largest put that net_op::ordered may ask for; 0: none. Not 0 implies `rma` and
                                    ///< `put_then_send_ordered`
  bool sends_land_at_once = false;  ///< when a send returns `done`, it is in the target's memory
  bool local_registration = false;  ///< segments of posted operations need an lkey
  bool pins_memory = false;  ///< registering takes time and memory, and covers the pages mapped at that time; if not, a
                             ///< registration only names a range
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

/// The header that the core puts before every message, as two words: it is passed in registers.
struct message_head {
  uint64_t words[2];
};

/// One request to the network. All posts use this struct. Only a request with `inject` may have more than one segment.
struct net_op {
  verb kind = verb::send;
  bool inject = false;   ///< the segments may be reused when post() returns; there is no completion event
  bool has_imm = false;  ///< put only: the target gets on_remote_write(peer, imm)
  uint8_t n_segments = 0;
  uint32_t imm = 0;
  int peer = 0;
  bool urgent = false;  ///< a message of the library by which other operations end: it may use the space that a network
                        ///< reserves for such messages
  bool ordered =
      false;  ///< put only, of at most max_ordered_put bytes: once post() has returned, the data of no put with
              ///< `ordered` that is posted later to the same peer is placed before this one's
  std::array<segment, max_segments> segments;  ///< source of send/put, destination of get
  uint64_t remote_addr = 0;                    ///< put/get: address at the peer
  uint64_t remote_key = 0;                     ///< put/get: rkey of the peer's registration
  void* context = nullptr;                     ///< passed back by on_complete()
};

/// A part of a put or get, which is contiguous at both ends.
struct piece {
  void* local;
  uint64_t remote_addr;
  size_t size;
};

/// A registered range of local memory.
struct registration {
  uint64_t lkey = 0;
  uint64_t rkey = 0;  ///< never 0 once registered
  void* handle = nullptr;
};

/// How a connection with a peer outside of the job has ended: this side closed it, the peer closed it, or the peer's
/// process died.
enum class departure : uint8_t { disconnected, left, died };

/// Receives the events of poll(). Implemented by the core. Methods may post, but not poll.
class event_sink {
 public:
  /// A message has arrived. `data` is valid until the call returns. If the device takes receive buffers, `recv_context`
  /// is the buffer's context, and the buffer's ownership returns to the core.
  virtual void on_recv(int peer, const std::byte* data, size_t size, void* recv_context) = 0;
  /// A posted operation (post() returned `posted`) is complete: the segments of a send may be reused; the segments of a
  /// get are filled; the data of a put is in the target's memory, or, for a put with `has_imm`, its segments may be
  /// reused.
  virtual void on_complete(void* context) = 0;
  /// A put with immediate data from `peer` is complete in this rank's memory.
  virtual void on_remote_write(int peer, uint32_t imm) = 0;
  /// `peer` has failed. Called once per peer. Operations posted to it will not complete.
  virtual void on_peer_failure(int peer, const char* reason) = 0;
  /// The connection with `peer`, which is not a rank of the job, has ended: nothing more will arrive from it, and
  /// operations posted to it will not complete. Called once per connection, on each device that existed when it ended.
  /// (Not called for ranks of the job.)
  virtual void on_peer_departure(int peer, departure how) { (void)peer, (void)how; }
  /// `peer` has freed its device: nothing more will arrive from that device, and it answers nothing. Called once, after
  /// the last message, on a device that has exchanged something with it. (If `peer` is not a rank of the job,
  /// on_peer_departure() is called instead.)
  virtual void on_device_end(int peer) { (void)peer; }
  /// A posted operation failed because of its peer; called before or after on_peer_failure(), but after on_device_end()
  /// if the peer has freed its device: the core reports such an operation as cancelled.
  virtual void on_operation_failure(void* context, int peer) = 0;

 protected:
  ~event_sink() = default;
};

/// What the process of a peer is doing, as far as its messages are concerned.
enum class attention : uint8_t {
  unknown,  ///< it may compute for a long time without polling
  needed,   ///< as `unknown`; in addition a get of its memory waits for its polls, and so does a put of its own
  polls,    ///< it polls its device, so it serves a request at once
  streams,  ///< as `polls`; this device has had no empty poll since the caller last asked
};

/// Thrown by device::post(): the system does not let this process access the memory of that peer, by this call at
/// least. Messages reach the peer all the same.
class access_denied_error final : public resource_error {
 public:
  using resource_error::resource_error;
};

class device {
 public:
  virtual ~device() = default;

  const limits& get_limits() const { return limits_; }

  /// Returns `done` (finished, no event), `posted` (on_complete follows), `retry_lock` or `retry_nomem` (nothing was
  /// sent), or `fatal`: the peer has failed, ended or freed its device, which on_peer_failure(), on_peer_departure() or
  /// on_device_end() has reported or a later poll reports. Throws resource_error if the system refuses a put or get to
  /// a live peer (access_denied_error: any access): the operation will not complete, and no event follows.
  virtual errorcode_t post(const net_op& op) = 0;

  /// The most frequent send, by its arguments alone: `head`, then `size` bytes of `payload`; both may be reused on
  /// return. Together they are at most max_inject_to(peer) bytes. As post(), but never returns `posted`. The default
  /// calls post().
  virtual errorcode_t inject(int peer, message_head head, const void* payload, size_t size);

  /// The largest send with `inject` to this peer, as far as is known now: `max_inject` or more. Thread-safe.
  virtual size_t max_inject_to(int peer) const { return (void)peer, limits_.max_inject; }

  /// A put or get of many pieces, for networks in which each one costs a call of the kernel. Returns `done`, or
  /// `retry_nomem`: nothing was transferred, and the pieces are to be posted one by one, as always by default;
  /// otherwise as post().
  virtual errorcode_t post_pieces(verb kind, int peer, const piece* pieces, size_t n) {
    (void)kind, (void)peer, (void)pieces, (void)n;
    return errorcode_t::retry_nomem;
  }

  /// Called once, before anything else, after the publish() that tells peers about this device. (create_device() offers
  /// what the peers must know; its caller calls publish().) The limits are valid from then on.
  virtual void settle(acquaintance how) { (void)how; }

  /// Passes up to about `max_events` events to the sink. Returns how many, or -1 if other threads hold the locks of
  /// everything that could be polled.
  virtual int poll(event_sink& sink, int max_events) = 0;

  /// Called once, after the first receive buffers were posted and before anything is sent. Collective.
  virtual void start() {}

  /// Posts a buffer for one incoming message. Returns `done` or `retry_*`. See limits::receive_buffers.
  virtual errorcode_t post_recv(segment buffer, void* context) {
    (void)buffer, (void)context;
    return errorcode_t::fatal;
  }

  /// Throws resource_error if the system refuses. Thread-safe.
  virtual registration register_memory(void* base, size_t size) = 0;
  virtual void deregister_memory(const registration& reg) = 0;
  /// Peers may read the memory, but not write to it. Called once, before the registration's key is known to any peer.
  /// Networks that do not check accesses by software, as those with shared keys or without any, ignore it.
  virtual void make_read_only(const registration& reg) { (void)reg; }

  /// Sleeps until poll() may find something, at most `timeout_us` microseconds. May return early.
  virtual void wait(int64_t timeout_us) = 0;

  /// The sleep of a progress thread (at most one per device): as wait(), but unpark() ends it, or ends the next park()
  /// if none is in progress. The default is a short wait(), for networks that can't wake a sleeper.
  virtual void park(int64_t timeout_us) { wait(std::min<int64_t>(timeout_us, 1000)); }
  virtual void unpark() {}

  /// Returns whether a put to that peer, or a get from it, stays outstanding until the peer polls. Until then the
  /// network uses the program's memory, so the core sends those with a deadline as messages instead. Thread-safe.
  virtual bool rma_waits_for(int peer) const { return (void)peer, false; }
  /// Returns whether a put with net_op::ordered to that peer places its data only after the core there has handled all
  /// messages that were posted before it. If not, ordered puts can't go as messages. Thread-safe.
  virtual bool ordered_puts_follow_messages(int peer) const { return (void)peer, false; }

  /// What the process of `peer` is doing now, as far as this network can tell. The core asks before a large transfer
  /// from `peer`, which both processes could copy. Thread-safe.
  virtual attention attention_of(int peer) { return (void)peer, attention::unknown; }

  /// Returns whether this device has exchanged, or tried to exchange, anything with `peer`, which has failed. If not,
  /// the failure need not be reported to the program.
  virtual bool has_met(int peer) { return (void)peer, true; }

  /// Returns true when everything this device has sent has left it (nothing waits in local memory for a peer to fetch
  /// it). The core calls this repeatedly before it destroys the device, until it returns true; by then only answers are
  /// posted. The first call may tell the peers that this device is closing.
  virtual bool flushed() { return true; }

  /// Adds those of the program's counters that the network itself counts. Thread-safe.
  virtual void add_counts(counters_t& sum) { (void)sum; }

 protected:
  limits limits_;
};

/// The core's table of peers outside of the job and of their ids, which follow the ids of the job's ranks. Thread-safe;
/// its methods don't call the network.
class external_peer_book {
 public:
  int first() const { return first_; }        ///< the smallest id
  int capacity() const { return capacity_; }  ///< how many ids there are
  bool accepts_external_peers() const { return accepts_external_peers_; }

  /// Allocates an id for a connection that is about to be made; -1 if all are in use. Throws std::bad_alloc.
  virtual int admit() = 0;
  /// The connection is established: the program may now post to the id.
  virtual void on_connected(int peer) = 0;
  /// The connection has ended, all devices have reported it, and nothing more will arrive from it.
  virtual void retire(int peer, departure how) noexcept = 0;

 protected:
  external_peer_book(int first, int capacity, bool accepts)
      : first_(first), capacity_(capacity), accepts_external_peers_(accepts) {}
  ~external_peer_book() = default;

 private:
  const int first_;
  const int capacity_;
  const bool accepts_external_peers_;
};

/// The state of an attempt to connect.
struct contact {
  enum class state : uint8_t { under_way, made, refused, gone, moved };
  state what = state::under_way;
  std::string reason{};  ///< set for `refused` and `gone`: the reason and the remedy
  int peer = -1;         ///< moved: the attempt goes on under this id, which may be the own rank
  /// moved, and `peer` is negative: the peer is on this host and has this address there; the one that was called.
  std::string near_address{}, address{};
};

using detail::heap_window;

/// One per runtime. Owns what its devices share.
class context {
 public:
  virtual ~context() = default;

  /// For a context that is part of another one. Called once, after the publish() that tells peers about this context,
  /// before anything else except create_device() and open_to_external_peers().
  virtual void settle(acquaintance how) { (void)how; }
  /// For a context that is not part of another one: publishes and settles it, unless its first device has done so.
  /// Collective.
  virtual void open() {}
  /// The backend that leads to other hosts, if it is known only after open() or the first device; else none: the
  /// backend is the one that the context was opened with.
  virtual attr_backend_t backend() const { return attr_backend_t::none; }

  /// The k-th device of a rank communicates with the k-th device of every other rank. `eager_size`: bytes of the
  /// largest message that the core sends in a packet, including its wire header. `max_inject` may be larger.
  virtual std::unique_ptr<device> create_device(const device_attr_t& attr, size_t eager_size) = 0;

  /// This rank's shared heap, created by the first call: sparse, zero-filled, mapped as long as the context exists.
  /// Throws resource_error if the system refuses. Only one thread may call it at a time.
  virtual heap_window own_heap() { return {}; }
  /// Returns whole pages of the own heap to the system; they read as zero afterwards.
  virtual void discard(std::byte* begin, size_t size) { (void)begin, (void)size; }
  /// Where the heap of `peer`, which has one, is mapped in this process; empty if `peer` runs on another host. Throws
  /// resource_error or peer_failure_error. Only one thread may call it at a time.
  virtual heap_window heap_of(int peer) { return (void)peer, heap_window{}; }

  /// Returns whether this network leads to that rank. The relation is symmetric and transitive.
  virtual bool reaches(int peer) { return (void)peer, true; }

  // --- peers outside of the job; see external_peer_book. Thread-safe, and callable inside of a sink ---

  /// Allows connections to such peers, and from them if the book accepts external peers. Called at most once, before
  /// the first device is made; never called if external peers are not allowed.
  virtual void open_to_external_peers(external_peer_book& book) { (void)book; }
  /// A printable text by which contexts of other processes connect to this one. Empty if they can't.
  virtual std::string own_address() { return {}; }
  /// Starts to connect to the context with that address, and returns the id that the peer will have; returns the own
  /// rank if the address is this context's own. Never waits. Throws invalid_argument_error if the text is not an
  /// address of this network, resource_error if no id is left.
  virtual int connect(const std::string& address);
  /// The state of that attempt. After `refused`, `gone` and `moved` the caller no longer owns the id.
  virtual contact contact_with(int peer) { return (void)peer, contact{}; }
  /// Closes a connection, or cancels an attempt to connect: the peer is notified, and poll() reports it to the sinks.
  /// Then the id is retired. No effect on an id that is not in use or is being retired.
  virtual void disconnect(int peer) { (void)peer; }
};

/// Says whether a backend can be used here.
struct usability {
  std::string why_not;       ///< empty if it can be used, else the reason and the remedy (shown by lci_info)
  bool last_choice = false;  ///< any other usable backend between hosts is preferred
  bool refused = false;      ///< the system refuses resources; a later attempt may succeed
};

/// A backend's entry in the table of backends (network/fabrics.cpp).
struct fabric {
  attr_backend_t id;
  const char* name;
  usability (*look)(const net_context_attr_t& attr);
  std::unique_ptr<context> (*create)(address_exchange& exchange, const net_context_attr_t& attr);
  /// Where ranks come from, if not from the process's bootstrap (sim: several ranks in a process).
  std::unique_ptr<address_exchange> (*own_exchange)(const net_context_attr_t& attr) = nullptr;
  /// The same for a runtime that is a job of its own and can be reached by the others.
  std::unique_ptr<address_exchange> (*own_lone_exchange)(const net_context_attr_t& attr) = nullptr;
};

/// All backends built into this library, best first.
const std::vector<fabric>& fabrics();

}  // namespace lci::network
