// The messages that two devices exchange before the first frame. The sender has not authenticated yet, so nothing is
// trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lci::network::sockets {

/// Random, chosen by each device, and known to all who have read its offer through the bootstrap.
using secret = std::array<unsigned char, 16>;

/// Throws resource_error if the system has no random bytes.
secret new_secret();

/// Sent by the connecting device.
struct hello {
  secret request_secret;  ///< of the intended device: a device that used the port before has another one
  int rank = 0;           ///< of the connecting device
};
constexpr size_t hello_size = 32;

/// Sent by the accepting device.
struct reply {
  enum class verdict : uint32_t {
    accepted = 1,
    crossed,  ///< both connected at once; the connection started by the lower rank is used instead
  };
  secret answer;  ///< of the intended device
  verdict what = verdict::accepted;
};
constexpr size_t reply_size = 32;

std::string encode(const hello& h);
std::string encode(const reply& r);
/// False: not sent by a device of this version. `bytes` has `hello_size` or `reply_size` bytes.
bool decode(const std::string& bytes, hello& h);
bool decode(const std::string& bytes, reply& r);

/// Constant time, wherever the secrets differ.
bool equal(const secret& a, const secret& b);

}  // namespace lci::network::sockets
