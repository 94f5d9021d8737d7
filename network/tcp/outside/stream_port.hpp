// Byte streams over datagrams, for networks without connections such as libfabric's. A stream replaces the socket of a
// link. Both ends exchange their endpoint's name and a random token over the link's authenticated socket, which is then
// closed. Each datagram has the token of the stream it is for: a datagram of a stranger, or of a former connection, is
// dropped. A receiver acknowledges what was read, and at most `window` datagrams of a sender are not acknowledged.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/uio.h>

#include "lib/concurrent/spinlock.hpp"
#include "network/common/datagrams.hpp"
#include "network/common/liveness_socket.hpp"
#include "network/common/ring.hpp"
#include "network/tcp/outside/credentials.hpp"

namespace lci::network::outside {

/// Owned by its port. All members are used under the port's lock.
struct message_stream {
  int peer = 0;          ///< the id of the connection's peer
  uint32_t number = 0;   ///< among the port's streams; the peer sends it
  nonce token{};         ///< the peer sends it
  socket_handle socket;  ///< until the peer's offer has been read
  std::string offer;     ///< its received part
  bool is_open = false;  ///< the offer was taken, so datagrams can be sent
  bool heard = false;    ///< a datagram has arrived
  uint32_t their_number = 0;
  nonce their_token{};
  datagram_endpoint::address to = 0;
  bool begins = false;  ///< sends the first datagram; the other end waits for it, so that only one of them connects
  uint32_t sent = 0, acknowledged = 0;         ///< datagrams sent, and those that the peer's reader has read
  uint32_t arrived = 0, taken = 0;             ///< datagrams that have arrived, and that were read
  uint32_t told = 0;                           ///< the value of `taken` that the peer knows
  datagram *first = nullptr, *last = nullptr;  ///< not read yet
  int under_way = 0;                           ///< sends that are not complete
  bool greeting_due = false;                   ///< the first datagram, by which the network connects
  bool end_wanted = false, end_sent = false, end_arrived = false;
  bool is_cut = false;                     ///< nothing more is written
  int error = 0;                           ///< an errno: nothing can be sent or read any more
  bool has_news = false;                   ///< an end or an error that was not read
  bool is_ready = false, is_busy = false;  ///< in the port's lists
  bool is_closed = false;                  ///< its link has ended
  std::chrono::steady_clock::time_point closed_at;
};

/// The streams of a device over one endpoint. Thread-safe. No method waits for a peer, and reads, writes and polls
/// don't wait for the lock either.
class stream_port final : private datagram_sink {
 public:
  /// The most streams that poll() names.
  static constexpr size_t most_ready = 32;

  explicit stream_port(std::unique_ptr<datagram_endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

  /// A new stream. `begins`: true at one of its ends. `socket`: authenticated, without unread bytes. Throws
  /// resource_error and std::bad_alloc; then the caller still has the socket, and may try again.
  message_stream& open(int peer, bool begins, socket_handle& socket);
  /// The link no longer uses the stream, which the port frees when nothing is outstanding.
  void close(message_stream& s);

  /// As readv() and writev(), without waiting: -1 with errno EAGAIN if nothing can be read or written now.
  ssize_t read(message_stream& s, const iovec* to, int n);
  ssize_t write(message_stream& s, const iovec* from, int n);
  /// Nothing more will be written. The peer reads the end of the stream.
  void end(message_stream& s);
  /// Nothing more is sent or read.
  void abort(message_stream& s);
  /// Returns whether the peer has read all that was written, and the end; true if the stream has failed.
  bool is_read(message_stream& s);

  /// Sends and receives datagrams. Writes the ids of peers whose stream can be read to `ready`; returns their number,
  /// or -1 if another thread has the lock. Without `ready`, only sends and receives.
  int poll(std::array<int, most_ready>* ready);
  /// Becomes readable when poll() may find something; -1: no descriptor does.
  int wait_fd() const { return endpoint_->wait_fd(); }
  /// Returns whether a stream needs polls to go on.
  bool is_busy();
  /// For how long a thread may sleep: some changes have no event.
  int64_t longest_sleep_us();

 private:
  using clock = std::chrono::steady_clock;
  enum class sequel : uint8_t { data, end, none };  // none: not counted, for acknowledgements only

  void on_datagram(datagram& d) override;
  void on_sent(void* user, int error) override;
  // Under lock_:
  bool take(message_stream& s, datagram& d);
  void read_offer(message_stream& s);
  void advance(message_stream& s);
  datagram* buffer_if_memory();
  /// Sends a datagram without data. Returns false if it can't be sent now.
  bool send_short(message_stream& s, sequel what);
  int send(message_stream& s, datagram& d, sequel what);
  void fail(message_stream& s, int error);
  void mark_ready(message_stream& s);
  void mark_busy(message_stream& s);
  void drop_unread(message_stream& s);
  static bool may_send(const message_stream& s) { return s.error == 0 && s.is_open && (s.begins || s.heard); }
  bool owes_acknowledgement(const message_stream& s) const;
  bool may_free(const message_stream& s) const;
  void advance_all();

  spinlock lock_;
  const std::unique_ptr<datagram_endpoint> endpoint_;                      // under lock_
  std::unordered_map<uint32_t, std::unique_ptr<message_stream>> streams_;  // under lock_, by number
  ring<message_stream*> ready_;                                            // under lock_: can be read
  std::vector<message_stream*> busy_;                                      // under lock_: see advance()
  uint32_t next_number_ = 1;                                               // under lock_
};

}  // namespace lci::network::outside
