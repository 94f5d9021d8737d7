// The messages that two devices exchange before the first frame. The sender has not authenticated yet, so nothing is
// trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "network/common/secret.hpp"

namespace lci::network::sockets {

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
/// Returns false if it was not sent by a device of this version. `bytes` has `hello_size` or `reply_size` bytes.
bool decode(const std::string& bytes, hello& h);
bool decode(const std::string& bytes, reply& r);

}  // namespace lci::network::sockets
