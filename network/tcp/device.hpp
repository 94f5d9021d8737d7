// A device over plain TCP sockets: a connection to each peer it has communicated with.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/concurrent/attempt.hpp"
#include "network/common/bundle_parts.hpp"
#include "network/common/remote_device.hpp"
#include "network/common/waiting_list.hpp"
#include "network/fabric.hpp"
#include "network/tcp/connection.hpp"
#include "network/tcp/context.hpp"
#include "network/tcp/handshakes.hpp"
#include "network/tcp/regions.hpp"

namespace lci::network::sockets {

struct gathered;  // a message as pieces of memory

/// Thread-safe. A thread that posts to a peer while another one writes to its socket appends its message to the bundle;
/// one that polls a connection from which another thread reads returns at once.
///
/// A send is `done` when post() returns: its bytes are in the kernel or copied. So is a short put; a long put that the
/// socket does not take at once is written from the user's buffer. Gets are answered when the target polls. Lock order:
/// the handshakes' or a connection's receive lock, a connection's lock, a list's lock.
class device final : public remote_device, public bundling_device, public connection_owner {
 public:
  /// Listens, and offers the address.
  device(context& c, size_t eager_size);
  ~device() override;
  void settle(acquaintance how) override;

  errorcode_t post(const net_op& op) override;
  errorcode_t inject(int peer, message_head head, const void* payload, size_t size) override {
    return send(peer, frame_kind::message, {&head, sizeof head, payload, size});
  }
  int poll(event_sink& sink, int max_events) override;
  registration register_memory(void* base, size_t size) override;
  void deregister_memory(const registration& r) override { regions_.remove(r.rkey); }
  void make_read_only(const registration& r) override { regions_.make_read_only(r.rkey); }
  network::attention attention_of(int) override { return attention::needed; }
  bool rma_waits_for(int peer) const override { return peer != own_rank_; }
  bool ordered_puts_follow_messages(int) const override { return true; }  // one connection carries both
  bool has_met(int peer) override {
    const connection* const c = link_if_any(peer);
    return c != nullptr && !c->never_met.load(std::memory_order_relaxed);
  }
  bool flush_if_unpolled() override;

 private:
  static constexpr uint64_t self_mark = 0xffffffff;  // distinct from the marks of ranks and of the handshakes

  // device.cpp
  connection& link_to(int rank) {
    connection* const c = links_[static_cast<size_t>(rank)].load(std::memory_order_acquire);  // A1: pairs with R1
    return LCI_LIKELY(c != nullptr) ? *c : meet(rank);
  }
  connection* link_if_any(int rank) const { return links_[static_cast<size_t>(rank)].load(std::memory_order_acquire); }
  LCI_COLD connection& make_link(int rank, bool& made);
  LCI_COLD connection& meet(int rank);
  bool has_decided(int rank) override;
  void on_connected(int rank, socket_handle socket) override;
  void on_unreachable(int rank, const std::string& reason) override { fail_peer(rank, reason); }
  void on_closed(int rank, const std::string& reason) override;

  // device_send.cpp
  /// `asked`: set if the frame is a request.
  errorcode_t send(int peer, frame_kind kind, const parts& m, const request* asked = nullptr);
  /// Appends a message to those that wait. `alone`: not appended, the caller has the turn and must send it; `no_room`:
  /// no space; `gone`: the peer is gone; `filled`: appended, and the bundle should be sent now.
  enum class joined : uint8_t { alone, waits, filled, no_room, gone };
  joined join(connection& c, frame_kind kind, const parts& m, const request* asked);
  /// Returns false if the socket has taken nothing and there is no memory to store the message: it was not sent.
  bool write_alone(connection& c, frame_kind kind, const parts& m, const request* asked);
  /// Keeps what the socket has not taken of a message, of which `done` bytes are written. While there is no memory it
  /// goes on writing, and returns ENOMEM in the end. Returns an errno, or 0.
  LCI_COLD int keep_rest(int fd, const gathered& m, size_t size, size_t& done, std::list<outgoing>& rest);
  /// Lets other threads write to the connection again, after a message that was not sent.
  LCI_COLD void take_back(connection& c, const request* asked);
  /// Ends a turn in which a message was sent alone, except for a `rest` of at most one entry; `error`: the connection
  /// is broken. Needs no memory.
  void end_alone(connection& c, std::list<outgoing>& rest, int error);
  void end_alone(connection& c);
  LCI_COLD void break_off(connection& c, int error);  // under the connection's lock
  /// Writes what waits until the socket is full, unless another thread is writing.
  void flush(connection& c);
  void end_turn(connection& c);  // under the connection's lock
  /// `partly`: the socket is full. The caller has the turn.
  enum class written : uint8_t { nothing, partly, whole, broken };
  written write(connection& c, batch& next);
  void list(connection& c);  // under the connection's lock
  void flush_all() {
    if (waiting_.any()) flush_listed();
  }
  LCI_NOINLINE void flush_listed();

  // device_rma.cpp
  errorcode_t put(const net_op& op);
  errorcode_t get(const net_op& op);
  errorcode_t move_own(const net_op& op);
  /// Makes a call that may answer `posted`. Before it, reserves what reporting the operation's end needs, so that the
  /// end can't be lost for want of memory.
  template <class F>
  errorcode_t begin_operation(F call);
  void count_end() { n_operations_.fetch_sub(1, std::memory_order_relaxed); }
  /// Returns `done`, or `posted` if some of it waits; `retry_nomem` if `most` others wait already.
  errorcode_t send_content(connection& c, const content_frame& frame, size_t most, const request* asked);
  void answer(connection& c, frame_kind kind, const std::byte* content, size_t size);
  /// Handles a frame other than a message. Returns an error text, or nullptr.
  const char* take(connection& c, const frame_view& frame);
  const char* begin_put(connection& c, const frame_view& frame);
  const char* answer_get(connection& c, const frame_view& frame);
  const char* take_answer(connection& c, const frame_view& frame);
  void begin_content(connection& c, const arriving& content);
  /// Handles content that is complete.
  int end_content(connection& c, event_sink& sink);
  LCI_COLD void drop(connection& c, const std::list<outgoing>& unsent);
  /// Fails the unanswered requests of a connection that has ended. Under receive_lock. Returns false if it must be
  /// called again, as the memory of a put may still be read.
  LCI_COLD bool drop_asked(connection& c);

  // device_poll.cpp
  /// Returns the number of events, or -1 if another thread reads from the connection.
  int receive(connection& c, event_sink& sink);
  /// Reads from the connection once, delivers the messages, and adds their number to `n_events`. Returns false if there
  /// is nothing to read, or if the connection has ended. The caller holds its receive_lock.
  bool read(connection& c, event_sink& sink, int& n_events);
  ssize_t read_content(connection& c, int fd);
  int receive_own(event_sink& sink);
  /// Delivers the complete frames. Under the connection's receive_lock, like the following functions.
  int deliver(connection& c, event_sink& sink);
  /// Keeps an incomplete frame, of which at least `needed` bytes are required.
  void keep_rest(connection& c, size_t needed);
  LCI_COLD void end_of(connection& c, const std::string& reason);
  LCI_COLD std::string reason_of_end(connection& c);
  LCI_COLD void stop_reading(connection& c);
  /// Reads what was received from a peer that has failed, up to a limit.
  LCI_COLD void finish(connection& c, event_sink& sink, int& n_events);
  /// Polls epoll, and receives from all ready connections. Returns as receive().
  int poll_all(event_sink& sink);
  LCI_COLD int report_deferred(event_sink& sink);
  /// Adds to a list of deferred events, and wakes sleeping threads.
  template <class T>
  void report_later(deferred_events::list<T>& list, T what) {
    deferred_.add(list, what);
    if (has_sleepers_after_event()) self_.set();
  }

  // device_peers.cpp
  peer_state& state_of(int rank) override;
  std::string label() const override { return "tcp"; }
  void on_gone(int rank, bool failed) override;
  /// A suspected peer does not listen any more. If its process is alive, its device has ended.
  bool alive_means_ended() const override { return true; }
  bool is_settled(int rank) override;
  bool has_sent_all() override;
  bool close_to(int rank) override;
  bool has_unsent(int rank) override;
  void check_own() override { handshakes_->handle_due(); }

  // device_sleep.cpp
  bool prepare_to_sleep(sleep_set& events) override;
  /// Ensures an event when what waits can be written. Returns false if it can be now.
  bool watch_blocked(connection& c);

  context& context_;
  const int own_rank_;
  const size_t row_end_;  // bytes in a bundle from which it is sent at once
  socket_handle events_;  // epoll: received data, handshakes, and messages to oneself
  wake_event self_;       // in the epoll, for messages to oneself and deferred events
  std::unique_ptr<handshakes> handshakes_;
  address_exchange::offer_id endpoints_of_all_;
  std::vector<endpoint> endpoints_;  // empty: read when a peer is first met
  chunk_pool chunks_;
  region_table regions_;
  std::mutex links_mutex_;
  std::vector<std::unique_ptr<connection>> owned_links_;  // under links_mutex_
  std::unique_ptr<std::atomic<connection*>[]> links_;     // written under links_mutex_

  alignas(cache_line) std::atomic<connection*> recent_{nullptr};  // the last connection from which something was
                                                                  // received
  std::atomic<int> n_connected_{0};
  std::atomic<uint32_t> polls_{0};
  std::atomic<size_t> n_operations_{0};  // posted and not ended
  std::atomic<bool> more_comes_{false};  // a poll is delivering several messages: bundle the answers
  std::atomic<bool> own_waits_{false};   // messages to oneself wait
  waiting_list<connection*> waiting_;    // connections where something waits

  // Lists of deferred_.
  struct failed_operation {
    void* context;
    int peer;
    bool of_link = false;  // its connection ended: reported after the end of the peer, which gives the reason
  };
  deferred_events::list<void*> completed_;
  deferred_events::list<failed_operation> failed_;
  deferred_events::list<connection*> undelivered_;  // a handler threw before the last message
  deferred_events::list<connection*> ended_links_;  // their unanswered requests must fail
};

}  // namespace lci::network::sockets
