// A process's connection to the server: sends requests and waits for their replies.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <lci.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "../protocol.hpp"

namespace io_server {

/// The result of a call. `error` is EIO if the connection is lost.
struct answer {
  int error = EIO;
  int64_t result = 0, second = 0;
  size_t size = 0;  ///< bytes of data that were stored
};

/// A connection. Owns a runtime, separate from those of a program that uses LCI itself. Thread-safe: each call has a
/// slot, and waiting threads make progress for all. After the connection is lost, every call returns EIO.
class connection {
 public:
  /// Connects; throws exceptions of lci::connect(). `timeout`: seconds that connecting, and each call, may take.
  connection(const std::string& address, double timeout);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Sends a request with its texts and data, and stores the reply's data in `into`.
  answer call(request r, std::string_view text = {}, std::string_view text2 = {}, const void* data = nullptr,
              void* into = nullptr, size_t room = 0);

  struct slot;
  /// The same in two steps, so that several calls of a thread may be outstanding. `begin` sends; null: the server is
  /// lost. Each result must be passed to `end`, which waits.
  std::unique_ptr<slot> begin(request r, std::string_view text = {}, std::string_view text2 = {},
                              const void* data = nullptr);
  answer end(std::unique_ptr<slot> s, void* into = nullptr, size_t room = 0);
  /// Makes progress once. Returns whether the reply has arrived or the connection is lost: `end` then returns at once.
  bool is_over(slot& s);

  enum class copied : unsigned char { at_once, later, failed };
  /// Gets from, or puts to, memory at the server, and waits for it. `at_once`: the post itself has made the copy.
  copied copy(lci::direction_t direction, void* local, size_t size, const lci::rmr_t& remote, size_t at);

  /// Memory that the server may read or write until it is destroyed.
  class registered {
   public:
    registered(connection& c, const void* memory, size_t size);
    ~registered();
    registered(const registered&) = delete;
    registered& operator=(const registered&) = delete;
    const lci::rmr_t& remote() const { return remote_; }

   private:
    connection& connection_;
    lci::mr_t region_;
    lci::rmr_t remote_;
  };

  /// Ends the session; later calls return EIO.
  void leave();

  bool is_lost() const { return lost_.load(std::memory_order_acquire); }

 private:
  std::unique_ptr<slot> take_slot();
  void put_slot(std::unique_ptr<slot> s);
  bool send(const request& r, std::string_view text, std::string_view text2, const void* data);
  bool wait(slot& s, lci::status_t* arrived);
  /// Returns whether the server answers another request in time.
  bool answers();
  void lose();
  void free_resources();

  const double timeout_;
  lci::runtime_t runtime_;
  lci::packet_pool_t packets_;
  lci::device_t device_;
  int server_ = -1;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<slot>> free_;  // under mutex_
  uint32_t last_number_ = 0;                 // under mutex_
};

/// A call that is outstanding.
struct connection::slot {
  lci::comp_t arrived;  // a synchronizer
  lci::rcomp_t handle = 0;
  uint32_t number = 0;
  bool may_last = false;     ///< the disk may need longer than a call may take; then the server must answer others
  bool has_arrived = false;  ///< `reply` is set, by is_over()
  lci::status_t reply;
};

}  // namespace io_server
