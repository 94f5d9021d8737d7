#include "lib/tools/lcirun/handshake.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

#include <sys/random.h>

#include <cerrno>

#include "lib/base/hmac.hpp"

namespace lci::launcher {

namespace {

constexpr std::string_view magic = "LCI1";

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string new_nonce() {
  const auto bytes = random_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The proof that the sender knows the key. `who`, the sender's role, is part of it: nobody can send one side's tag
/// back as that of the other side.
std::string tag(const secret_key& key, const char* who, std::string_view hello, std::string_view nonce) {
  std::string text = who;
  text += hello;
  text += nonce;
  return little_endian(siphash(key, text), tag_size);
}

}  // namespace

std::array<unsigned char, 16> random_bytes() {
  std::array<unsigned char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != ssize_t(bytes.size())) {
    throw_errno("getrandom");
  }
  return bytes;
}

handshake::handshake(const secret_key& key, int host)
    : key_(key), hello_(std::string(magic) + little_endian(static_cast<uint32_t>(host), 4) + new_nonce()) {}

std::string handshake::answer(std::string_view challenge) const {
  if (challenge.size() != challenge_size) return {};
  const auto nonce = challenge.substr(0, nonce_size);
  const std::string expected = tag(key_, "lcirun", hello_, nonce);
  if (!equal_in_constant_time<std::string_view>(challenge.substr(nonce_size), expected)) return {};
  return tag(key_, "proxy", hello_, nonce);
}

int claimed_host(std::string_view hello) {
  if (hello.size() != hello_size || hello.substr(0, magic.size()) != magic) return -1;
  uint32_t host = 0;
  for (size_t i = 8; i-- > 4;) host = host << 8 | static_cast<unsigned char>(hello[i]);
  return host > 0xffffff ? -1 : int(host);
}

std::string make_challenge(const secret_key& key, std::string_view hello) {
  const std::string nonce = new_nonce();
  return nonce + tag(key, "lcirun", hello, nonce);
}

bool is_answer(const secret_key& key, std::string_view hello, std::string_view challenge, std::string_view answer) {
  return equal_in_constant_time<std::string_view>(answer, tag(key, "proxy", hello, challenge.substr(0, nonce_size)));
}

}  // namespace lci::launcher
