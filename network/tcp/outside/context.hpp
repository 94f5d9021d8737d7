// Connections to peers outside of the job: opens, watches and closes them for all devices of a runtime.
//
// A connection of two contexts has a control socket as long as it lasts. If that socket ends without a close
// notification, the peer has failed. In addition, each pair of devices with the same number has a link: a socket, or a
// stream over libfabric that a socket has announced. The connecting side opens all sockets, as the other side may not
// be able to reach it. When a connection ends, each device closes its link and reports that to its sink; after the last
// device the id is retired.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "network/common/bundle_flusher.hpp"
#include "network/common/outside.hpp"
#include "network/tcp/outside/introductions.hpp"
#include "network/tcp/outside/networks.hpp"

namespace lci::network::outside {

class device;

/// The connections of a runtime. Owned by the network's context. Thread-safe. Methods may be called inside a sink, and
/// while a device's locks are held: of those, this class takes only the lock of a device's notes.
class context final : public outside_context, private introductions_owner {
 public:
  /// `rank`: this process's. Throws invalid_argument_error, or resource_error if it can't listen.
  context(const net_context_attr_t& attr, int rank, datagram_opener opener);
  ~context() override;

  std::unique_ptr<outside_device> create_outside_device(size_t eager_size) override;
  void set_near_address(const std::string& address) override;
  void open_to_external_peers(external_peer_book& book) override;
  std::string own_address() override { return address_; }
  bool knows(const std::string& address) const override;
  int connect(const std::string& address) override { return begin(address, near_host_); }
  int connect_far(const std::string& address) override { return begin(address, 0); }
  contact contact_with(int peer) override;
  void disconnect(int peer) override;

  // --- for devices ---

  /// Of networks beside TCP.
  static constexpr size_t most_networks = networks::most;
  int first() const { return book_->first(); }
  int capacity() const { return book_->capacity(); }
  const net_context_attr_t& attr() const { return attr_; }
  network::flusher& flusher() { return flusher_; }
  /// Ready when look() may find something.
  int events() const { return events_.get(); }
  bool is_used() const override { return used_.load(std::memory_order_relaxed); }
  /// Accepts connections, answers requests and detects failures, unless another thread is doing so.
  void look();
  /// The number, from 1, of the peer's current connection; 0 if it is not connected.
  uint32_t generation_of(int peer) const {
    return live_[static_cast<size_t>(peer - first())].load(std::memory_order_acquire);
  }
  /// Registers a device, which is then notified of connections. Returns its number.
  uint16_t add(device& d, size_t eager_size);
  void remove(device& d);
  /// Reports that a device's link has ended or that its peer has sent invalid data. The latter ends the connection at
  /// once.
  void on_trouble(int peer, uint32_t generation, const char* reason, bool at_once);
  /// Reports that a device has handled the end of this connection.
  void dealt_with(int peer);

 private:
  using clock = std::chrono::steady_clock;
  enum class phase : uint8_t { idle, connecting, linking, unsuccessful, connected, ending, over };
  struct peer_state {
    phase now = phase::idle;
    uint32_t generation = 0, attempt = 0;
    bool is_initiator = false;  // this side connects
    socket_handle control;
    nonce token{};
    uint32_t largest = 0;    // bytes of its messages
    int network = over_tcp;  // of its links
    uint64_t provider = 0;   // as in a hello
    std::vector<sockaddr_storage> where;
    std::string address;
    contact result;                            // of an unsuccessful attempt
    bool released = false;                     // ending, over: the program has released the id
    departure how = departure::left;           // ending
    int devices_left = 0;                      // ending
    std::map<uint16_t, socket_handle> parked;  // links to devices that do not exist yet; linking: all
    std::array<char, 96> trouble{};            // of a link, which the end of the control connection will explain
    clock::time_point since;
  };
  struct listener {
    socket_handle socket;
    int network;
    uint64_t provider;
    bool pauses = false;  // under mutex_: accepts no connections until the next handle_due()
  };
  struct link_attempt {
    int peer;
    uint16_t device;
  };
  static constexpr char leaving = 'L';  // the close notification
  static constexpr int over_tcp = -1;
  static constexpr uint64_t listener_mark = uint64_t{3} << 32, control_mark = uint64_t{4} << 32;  // plus an index

  peer_state& at(int peer) { return peers_[static_cast<size_t>(peer - first())]; }
  void listen_at_all(const std::string& urls);
  int begin(const std::string& address, uint64_t host);
  // All of the following under mutex_.
  int admit();
  /// The network of a URL, for which each device gets an endpoint. Throws invalid_argument_error or resource_error.
  int use(const datagram_request& wanted);
  void accept_some(size_t listener);
  void pause(listener& l, int error);
  void on_accepted(const hello& from, size_t listener, socket_handle socket) override;
  void on_outcome(uint32_t attempt, const outcome& m, const std::string& address, socket_handle socket) override;
  void on_connect_failed(uint32_t attempt, bool refused, const std::string& reason) override;
  void take_link(const hello& from, uint64_t provider, socket_handle socket);
  void establish(int peer, socket_handle control, uint32_t largest, const nonce& token);
  void go_live(int peer);
  void abandon_link_attempts(int peer);
  void give_link(int peer, uint16_t device, socket_handle socket);
  void connect_link(int peer, uint16_t device);
  /// Undoes what add() has done so far, where it has no memory to go on.
  void forget_new(const device& d, uint16_t number);
  void read_control(int peer);
  void begin_end(int peer, departure how);
  void finish(int peer, departure how);
  void fail(int peer, contact::state how, const std::string& reason);
  /// As fail(), where there is no memory for what was to be done.
  void fail_without_memory(int peer);
  void handle_due();
  void note_use() { used_.store(true, std::memory_order_relaxed); }

  const net_context_attr_t attr_;
  const int rank_;
  const credentials keys_;
  const nonce identity_;
  const std::chrono::milliseconds timeout_;
  socket_handle events_;  // epoll
  std::vector<listener> listeners_;
  std::string address_, near_address_;
  uint64_t near_host_ = 0;
  external_peer_book* book_ = nullptr;
  std::unique_ptr<std::atomic<uint32_t>[]> live_;
  std::atomic<bool> used_{false};
  network::flusher flusher_;

  std::mutex mutex_;
  introductions introductions_;             // under mutex_
  networks networks_;                       // under mutex_
  std::vector<peer_state> peers_;           // under mutex_; grows as ids are used
  std::map<uint32_t, link_attempt> links_;  // under mutex_: attempts to connect links, by number
  std::map<uint32_t, int> controls_;        // under mutex_: peers by number of the attempt to connect
  std::vector<device*> devices_;            // under mutex_
  uint16_t next_device_ = 0;                // under mutex_
  uint32_t next_generation_ = 1;            // under mutex_
  uint32_t largest_ = 0;                    // under mutex_: bytes of our messages
  clock::time_point due_;                   // under mutex_
  bool warned_ = false;                     // under mutex_
};

}  // namespace lci::network::outside
