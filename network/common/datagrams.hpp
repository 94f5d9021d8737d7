// Endpoints that exchange datagrams with any process whose endpoint's name they know: what a network offers for peers
// outside of the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lci/attributes.hpp"

namespace lci::network {

/// A buffer for one datagram. Owned by its endpoint until receive() or buffer() gives it away.
struct datagram {
  std::byte* data = nullptr;
  size_t size = 0;           ///< bytes of the datagram
  size_t begin = 0;          ///< for the user: bytes that were consumed
  datagram* next = nullptr;  ///< for the user
};

/// Receives the events of datagram_endpoint::poll(). Its methods may call send() and give_back(), but not poll().
class datagram_sink {
 public:
  /// A datagram has arrived, from anywhere. The sink owns it until it calls give_back().
  virtual void on_datagram(datagram& d) = 0;
  /// A datagram that was sent with `user` is complete; `error`: an errno, or 0. The endpoint has taken the buffer back.
  virtual void on_sent(void* user, int error) = 0;

 protected:
  ~datagram_sink() = default;
};

/// Reliable datagrams, in order from one endpoint to another. Owned by a device. Not thread-safe: the owner has a lock.
/// No method waits. When it is destroyed, all buffers end, also those that were given away.
class datagram_endpoint {
 public:
  using address = uint64_t;

  virtual ~datagram_endpoint() = default;

  /// The bytes by which the endpoint's peers know it; at most `longest_name`.
  virtual std::string name() const = 0;
  static constexpr size_t longest_name = 256;
  /// Bytes of the longest datagram.
  virtual size_t longest() const = 0;

  /// Throws resource_error if the name is not valid.
  virtual address add_peer(const std::string& name) = 0;
  /// Nothing sent to it may be outstanding.
  virtual void remove_peer(address peer) = 0;

  /// An empty buffer of `longest()` bytes, to be sent or given back. Throws std::bad_alloc or resource_error.
  virtual datagram& buffer() = 0;
  /// Returns 0: on_sent() follows; EAGAIN: try again later; or another errno. The caller keeps the buffer if it fails.
  virtual int send(address to, datagram& d, void* user) = 0;
  virtual void give_back(datagram& d) = 0;
  /// Returns how many events there were. Throws resource_error if the endpoint is broken.
  virtual int poll(datagram_sink& sink) = 0;

  /// Becomes readable when poll() may find something, if may_sleep() was true; -1: there is none.
  virtual int wait_fd() const = 0;
  virtual bool may_sleep() = 0;
};

/// A network with such endpoints. Immutable, so thread-safe.
class datagram_network {
 public:
  virtual ~datagram_network() = default;
  /// Throws resource_error.
  virtual std::unique_ptr<datagram_endpoint> open() const = 0;
};

/// Which network is wanted, and whose fault it is if there is none.
struct datagram_request {
  std::string provider;
  std::string source;     ///< an IP address of this host for the endpoints, or empty; networks without one ignore it
  const char* operation;  ///< for the errors
  const char* argument;
};
/// Opens a network, or throws invalid_argument_error that names those there are, or resource_error.
using datagram_opener =
    std::function<std::unique_ptr<datagram_network>(const net_context_attr_t& attr, const datagram_request& wanted)>;

}  // namespace lci::network
