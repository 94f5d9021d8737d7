// A device for peers outside of the job over TCP: a link to each, opened and closed while the device exists.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "lib/concurrent/attempt.hpp"
#include "network/common/bundle_parts.hpp"
#include "network/common/check_time.hpp"
#include "network/common/deferred_events.hpp"
#include "network/common/idle_counter.hpp"
#include "network/common/waiting_list.hpp"
#include "network/common/wake_event.hpp"
#include "network/tcp/outside/context.hpp"
#include "network/tcp/outside/slot.hpp"
#include "network/tcp/outside/stream_port.hpp"
#include "network/tcp/regions.hpp"

namespace lci::network::outside {

/// Sends, puts and gets work as between ranks (sockets::device), with the same frames. But a slot's lock is held during
/// writes, and a post that finds it taken returns `retry_lock`. Thread-safe.
class device final : public outside_device, public bundling_device {
 public:
  device(context& c, size_t eager_size);
  ~device() override;

  errorcode_t post(const net_op& op) override;
  errorcode_t inject(int peer, message_head head, const void* payload, size_t size) override {
    try {
      return send(peer, sockets::frame_kind::message, {&head, sizeof head, payload, size});
    } catch (const std::bad_alloc&) {
      return errorcode_t::retry_nomem;
    }
  }
  int poll(event_sink& sink, int max_events) override;
  registration register_memory(void* base, size_t size) override;
  void deregister_memory(const registration& r) override { regions_.remove(r.rkey); }
  void adopt_registration(uint64_t rkey, void* base, size_t size) override { regions_.add_as(rkey, base, size); }
  void drop_registration(uint64_t rkey) override { regions_.remove(rkey); }
  void make_read_only(const registration& r) override { regions_.make_read_only(r.rkey); }
  void wait(int64_t timeout_us) override { sleep(timeout_us, false); }
  void park(int64_t timeout_us) override { sleep(timeout_us, true); }
  void unpark() override { wake_.set(); }
  network::attention attention_of(int) override { return attention::needed; }
  bool rma_waits_for(int) const override { return true; }
  bool ordered_puts_follow_messages(int) const override { return true; }  // one link carries both
  bool flushed() override;
  bool flush_if_unpolled() override;

  // --- for the context ---

  uint16_t number() const { return number_; }
  /// A link has been made.
  struct new_link {
    int peer = 0;
    uint32_t generation = 0;
    uint32_t largest = 0;  ///< bytes of the peer's longest message
    int network = -1;  ///< of the context's networks, for the stream that the socket announces; -1: the socket itself
    bool is_initiator = false;  ///< this side has connected
    socket_handle socket;
  };
  void note_link(new_link made);
  void note_end(int peer, uint32_t generation, departure how);
  /// Opens an endpoint of each network of the context that has none yet. Throws resource_error.
  void open_ports(const networks& all);

 private:
  using clock = std::chrono::steady_clock;
  using frame_kind = sockets::frame_kind;
  static constexpr uint64_t wake_mark = ~uint64_t{0}, context_mark = wake_mark - 1, port_mark = wake_mark - 2;

  /// A notification of the context.
  struct note {
    int peer;
    uint32_t generation;
    bool is_end;
    new_link made;  // for a new link
    departure how = departure::left;
    clock::time_point until;  // for an end: time limit for the peer's last messages
  };
  /// A link whose connection this side has ended. Messages that were posted before are still sent.
  struct parting {
    link way;
    std::list<sockets::outgoing> waiting;
    clock::time_point until;
    bool shut = false;
  };
  /// A peer has freed its device; its connection may be about to end as well.
  struct device_end {
    slot* of;
    uint32_t generation;
    clock::time_point since;
  };
  struct failed_operation {
    void* context;
    int peer;
  };

  // device.cpp
  slot* slot_if_any(int peer) const {
    return slots_[static_cast<size_t>(peer - context_.first())].load(std::memory_order_acquire);  // A1: pairs with R1
  }
  slot& slot_of(int peer) {
    slot* const s = slot_if_any(peer);
    return LCI_LIKELY(s != nullptr) ? *s : make_slot(peer);
  }
  LCI_COLD slot& make_slot(int peer);
  /// Returns `done` if posts to the peer are accepted now, else what a post returns. Opens the slot for a connection
  /// that was established since the last post. Under the slot's lock.
  errorcode_t check_open(slot& s) {
    if (LCI_LIKELY(s.open && !s.close_sent && !s.ended && context_.generation_of(s.peer) == s.generation))
      return errorcode_t::done;
    return open_if_connected(s);
  }
  LCI_COLD errorcode_t open_if_connected(slot& s);
  bool handle_notes(event_sink& sink);
  bool handle(note& n, event_sink& sink);
  /// Reports what has failed, then the end of the peer's connection, also if handlers throw.
  void report_departure(int peer, departure how, event_sink& sink);
  /// Handles a note. Returns false if it must be tried again later. Waits for no lock, and calls no function of the
  /// context that takes its lock.
  bool take_link(note& n);
  bool end_link(note& n, event_sink& sink);
  /// Fails the outstanding operations. Under both locks.
  void close(slot& s, bool by_this_side);
  void drop_operations(slot& s);
  void report_device_ends(event_sink& sink);
  bool advance(parting& p);
  bool advance_partings();
  void sleep(int64_t timeout_us, bool parked);

  // device_send.cpp
  errorcode_t send(int peer, frame_kind kind, const parts& m, const sockets::request* asked = nullptr);
  errorcode_t append(slot& s, frame_kind kind, const parts& m, const sockets::request* asked, size_t most);
  /// Writes queued data until the link is full.
  void flush(slot& s);
  enum class written : uint8_t { partly, whole, broken };
  static written write(link& way, sockets::outgoing& next);
  void list(slot& s);
  void flush_all() {
    if (LCI_UNLIKELY(waiting_.any())) flush_listed();
  }
  void flush_listed();

  // device_rma.cpp
  errorcode_t put(const net_op& op);
  errorcode_t get(const net_op& op);
  template <class F>
  errorcode_t begin_operation(F call);
  errorcode_t append_content(slot& s, const sockets::content_frame& frame, size_t most, const sockets::request* asked);
  void answer(slot& s, frame_kind kind, const std::byte* content, size_t size);
  const char* take(slot& s, const sockets::frame_view& frame);
  const char* take_put(slot& s, const sockets::frame_view& frame);
  const char* take_get(slot& s, const sockets::frame_view& frame);
  const char* take_answer(slot& s, const sockets::frame_view& frame);
  int end_content(slot& s, event_sink& sink);

  // device_poll.cpp
  int poll_links(event_sink& sink);
  int report_deferred(event_sink& sink);
  int receive(slot& s, event_sink& sink);
  /// Returns false if there is nothing to read. Under the receive lock, like the following ones.
  bool read(slot& s, event_sink& sink, int& n_events);
  int deliver(slot& s, event_sink& sink);
  void keep_rest(slot& s, size_t needed);
  void stop_reading(slot& s, const char* trouble, bool at_once);

  // device_ports.cpp
  /// Returns the number of events.
  LCI_NOINLINE int poll_ports(event_sink& sink);
  /// Sends and receives datagrams, but delivers nothing. Returns whether a stream is waiting for something.
  bool advance_ports();

  template <class T>
  void report_later(deferred_events::list<T>& list, T what) {
    deferred_.add(list, what);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) wake_.set();
  }

  context& context_;
  const size_t bundle_end_;  // bytes from which a bundle is sent at once
  socket_handle events_;     // epoll: links, the context's epoll, and wake_
  wake_event wake_;
  sockets::chunk_pool chunks_;
  sockets::region_table regions_;
  /// The first n_ports_; the others are null. They exist longer than the links in slots.
  std::array<std::unique_ptr<stream_port>, context::most_networks> ports_;
  std::mutex slots_mutex_;
  std::vector<std::unique_ptr<slot>> owned_slots_;  // under slots_mutex_
  std::unique_ptr<std::atomic<slot*>[]> slots_;     // written under slots_mutex_
  uint16_t number_ = 0;

  alignas(cache_line) std::atomic<slot*> recent_{nullptr};  // from which something was received last
  std::atomic<size_t> n_ports_{0};
  std::atomic<int> n_links_{0}, sleepers_{0};
  std::atomic<uint32_t> polls_{0};
  std::atomic<uint64_t> polled_all_{0};  // ticks of the last call of epoll
  check_time checked_;                   // context_.look()
  std::atomic<size_t> n_operations_{0};  // posted and not ended
  std::atomic<bool> more_comes_{false};  // a poll is delivering several messages, so answers are bundled
  waiting_list<slot*> waiting_;          // slots where something waits
  idle_counter idle_;

  spinlock notes_lock_;
  std::list<note> notes_;  // under notes_lock_, the oldest first
  std::atomic<bool> any_notes_{false}, handling_notes_{false};
  std::list<parting> partings_;          // under handling_notes_
  std::vector<device_end> device_ends_;  // under notes_lock_
  std::atomic<bool> any_later_{false};   // there are partings or ends of devices

  deferred_events deferred_;
  deferred_events::list<void*> completed_;
  deferred_events::list<failed_operation> failed_;
  deferred_events::list<slot*> undelivered_;  // a handler threw before the last message
  clock::time_point close_until_{};           // of flushed()
};

}  // namespace lci::network::outside
