// What two devices say to each other before the first frame. Whatever comes may be a stranger's: nothing is
// trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lci::network::sockets {

/// Random, made by each device, and known to those who have read what it offered through the bootstrap.
using secret = std::array<unsigned char, 16>;

/// Throws resource_error if the system has no random bytes.
secret new_secret();

/// From who connects.
struct hello {
  secret knock;  ///< that of the device that is meant: others of a port's history don't know it
  int rank = 0;  ///< of who connects
};
constexpr size_t hello_size = 32;

/// From who was connected to.
struct reply {
  enum class verdict : uint32_t {
    welcome = 1,
    crossed,  ///< both have connected at once; the other connection, begun by the lower rank, shall serve
  };
  secret answer;  ///< of the device that was meant
  verdict what = verdict::welcome;
};
constexpr size_t reply_size = 32;

std::string encode(const hello& h);
std::string encode(const reply& r);
/// False: not by a device of this version. Of `hello_size` or `reply_size` bytes.
bool decode(const std::string& bytes, hello& h);
bool decode(const std::string& bytes, reply& r);

/// Takes as long wherever they differ.
bool equal(const secret& a, const secret& b);

}  // namespace lci::network::sockets
