// A device over plain TCP sockets: a connection to each peer that it has met.
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
#include "network/common/deferred_events.hpp"
#include "network/common/peer_state.hpp"
#include "network/fabric.hpp"
#include "network/tcp/connection.hpp"
#include "network/tcp/context.hpp"
#include "network/tcp/handshakes.hpp"
#include "network/tcp/regions.hpp"

namespace lci::network::sockets {

/// Thread-safe. Threads that post to a peer while one writes to its socket leave their messages in its bundle;
/// one that polls a connection which another thread reads from gives up at once.
///
/// A send is `done` when post() returns: its bytes are the kernel's, or copied. So is a short put; a long one that
/// the socket does not take at once is written from where it lies. Gets are answered by the target's polls. Locks are
/// taken in this order: the handshakes' or a connection's for receiving, a connection's, and last a list's.
class device final : public network::device, public holds_back, public connection_owner {
 public:
  /// Listens, and offers where.
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
  void wait(int64_t timeout_us) override { sleep(timeout_us, false); }
  void park(int64_t timeout_us) override { sleep(timeout_us, true); }
  void unpark() override;
  network::attention attention_of(int) override { return attention::needed; }
  bool has_met(int peer) override {
    const connection* const c = link_if_any(peer);
    return c != nullptr && !c->stranger.load(std::memory_order_relaxed);
  }
  bool flushed() override;
  bool flush_if_unattended() override;

 private:
  static constexpr uint64_t bell_mark = 0xffffffff;  // other marks of epoll: a rank's, or the handshakes'

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
  /// `asked`: if the frame is a request.
  errorcode_t send(int peer, frame_kind kind, const parts& m, const request* asked = nullptr);
  /// Puts a message behind those that wait, unless it is to go `alone`, which gives the caller the turn, or there
  /// is `no_room`, or nobody to send to. `filled`: they are so many now that they should go.
  enum class joined : uint8_t { alone, waits, filled, no_room, gone };
  joined join(connection& c, frame_kind kind, const parts& m, const request* asked);
  void write_alone(connection& c, frame_kind kind, const parts& m);
  /// Ends a turn in which something went alone, but for a `rest`; `error`: the socket takes nothing any more.
  void end_alone(connection& c, outgoing* rest, int error);
  LCI_COLD void break_off(connection& c, int error);  // under the connection's lock
  /// Writes what waits, as far as the socket takes it, unless another thread is at it.
  void flush(connection& c);
  void end_turn(connection& c);  // under the connection's lock
  /// `partly`: the socket takes no more. By who has the turn.
  enum class written : uint8_t { nothing, partly, whole, broken };
  written write(connection& c, outgoing& next);
  written write(connection& c, content_frame& frame);
  void list(connection& c);  // under the connection's lock
  void flush_all() {
    if (n_waiting_.load(std::memory_order_relaxed) != 0) flush_listed();
  }
  LCI_NOINLINE void flush_listed();

  // device_rma.cpp
  errorcode_t put(const net_op& op);
  errorcode_t get(const net_op& op);
  errorcode_t move_own(const net_op& op);
  /// `done`, or `posted` if some of it waits; or there is no room to wait in beside `most` others.
  errorcode_t send_content(connection& c, content_frame frame, size_t most, const request* asked);
  void answer(connection& c, frame_kind kind, const std::byte* content, size_t size);
  /// Takes a frame other than a message. Returns what is wrong with it, or nullptr.
  const char* take(connection& c, const frame_view& frame);
  const char* begin_put(connection& c, const frame_view& frame);
  const char* answer_get(connection& c, const frame_view& frame);
  const char* take_answer(connection& c, const frame_view& frame);
  void begin_content(connection& c, const arriving& content);
  /// Content is where it belongs.
  int tell_content(connection& c, event_sink& sink);
  LCI_COLD void drop(connection& c, const std::list<outgoing>& unsent);
  /// What was asked for will not come. Under receive_lock, of a connection that is over. False: the memory of a put
  /// may still be read.
  LCI_COLD bool drop_asked(connection& c);

  // device_poll.cpp
  /// Events, or -1: another thread reads from it.
  int receive(connection& c, event_sink& sink);
  /// Adds the events to `told`. False: nothing was there, or it has come to its end. Under the connection's receive_lock.
  bool read(connection& c, event_sink& sink, int& told);
  ssize_t read_content(connection& c, int fd);
  int receive_own(event_sink& sink);
  void silence_bell();
  /// Hands out the whole frames of what has come. Under the connection's receive_lock, as what follows.
  int deliver(connection& c, event_sink& sink);
  /// What has come of a frame that is not whole, of which so much is known to be needed.
  void keep_rest(connection& c, size_t needed);
  LCI_COLD void end_of(connection& c, const std::string& reason);
  LCI_COLD std::string reason_of_end(connection& c);
  LCI_COLD void hear_no_more(connection& c);
  /// Reads what there is of a peer that has failed, and no more of it.
  LCI_COLD void finish(connection& c, event_sink& sink, int& told);
  /// Asks epoll, and looks at all connections where something has come. As receive().
  int look_around(event_sink& sink);
  LCI_COLD int report_deferred(event_sink& sink);
  /// Adds to a list of deferred events, and wakes a sleeping thread.
  template <class T>
  void tell_later(std::vector<T>& list, T what) {
    deferred_.add(list, what);
    // Either it sees the deferred event before it sleeps, or we see that it sleeps: whichever changes the count later.
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) != 0) wake_poller(bell_.get());
  }

  // device_peers.cpp
  LCI_COLD void check_peers();
  LCI_COLD void fail_peer(int rank, const std::string& reason);
  LCI_COLD void settle_doubts();
  bool dismiss(connection& c);

  // device_sleep.cpp
  void sleep(int64_t timeout_us, bool parked);
  bool prepare_to_sleep();
  void wake_poller(int fd);

  context& context_;
  const int own_rank_;
  const size_t row_end_;  // of a bundle: from so many bytes on it goes at once
  socket_handle events_;  // epoll: of what comes, of handshakes, and of messages to oneself
  socket_handle wake_;    // of unpark()
  socket_handle bell_;    // rung for messages to oneself and deferred events: wakes threads that sleep
  std::unique_ptr<handshakes> handshakes_;
  address_exchange::ticket endpoints_of_all_;
  std::vector<endpoint> endpoints_;  // empty: asked for when a peer is met
  chunk_pool chunks_;
  region_table regions_;
  std::mutex links_mutex_;
  std::vector<std::unique_ptr<connection>> owned_links_;     // under links_mutex_
  std::unique_ptr<std::atomic<connection*>[]> links_;        // written under links_mutex_

  alignas(cache_line) std::atomic<connection*> recent_{nullptr};  // whom something has come from lately
  std::atomic<int> n_connected_{0};
  std::atomic<uint32_t> polls_{0}, idle_{0};
  std::atomic<size_t> departures_seen_{0};
  /// A peer that does not listen any more. Its device has ended if its process is seen to live.
  struct doubt {
    int rank;
    std::string reason;
    std::chrono::steady_clock::time_point since;
  };
  std::mutex doubts_mutex_;
  std::vector<doubt> doubts_;  // under doubts_mutex_
  std::atomic<bool> more_comes_{false};   // a poll is handing out several messages: answers go together
  std::atomic<bool> attended_{false};     // polled lately
  std::atomic<bool> own_waits_{false};    // messages to oneself
  std::atomic<int> sleepers_{0}, parked_{0};

  spinlock waiting_lock_;
  std::vector<connection*> waiting_;    // under waiting_lock_: where something waits
  std::atomic<size_t> n_waiting_{0};    // how many these are; also while they are looked at

  /// What happened outside of a poll, or could not be told in it.
  deferred_events deferred_;
  struct failed_operation {
    void* context;
    int peer;
  };
  std::vector<void*> completed_;           // deferred_
  std::vector<failed_operation> failed_;   // deferred_
  std::vector<connection*> undelivered_;   // deferred_: a handler has thrown before the last message
  std::vector<connection*> ended_links_;   // deferred_: who waits there for answers will get none

  goodbye_timeout farewell_time_;  // of flushed(): by one thread
};

}  // namespace lci::network::sockets
