// Mutual authentication of lcirun and a proxy (the process that it has started on a remote host) over TCP. Each proves
// that it knows the host's key, which lcirun has sent through ssh and which is never sent over this connection.
// Messages only; the callers do the I/O.
//
//   proxy  -> lcirun: magic, number of the host, nonce
//   lcirun -> proxy:  nonce, tag
//   proxy  -> lcirun: tag
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/tools/lcirun/siphash.hpp"

namespace lci::launcher {

constexpr size_t nonce_size = 16, tag_size = 8;
constexpr size_t hello_size = 8 + nonce_size, challenge_size = nonce_size + tag_size;

/// 16 random bytes from the kernel.
std::array<unsigned char, 16> random_bytes();
inline secret_key new_key() { return random_bytes(); }

/// The proxy's side.
class handshake {
 public:
  handshake(const secret_key& key, int host);
  const std::string& hello() const { return hello_; }
  /// Returns the last message if the challenge proves knowledge of the key; else an empty text.
  std::string answer(std::string_view challenge) const;

 private:
  const secret_key key_;
  const std::string hello_;
};

/// lcirun's side: the host number that a hello claims, or -1.
int claimed_host(std::string_view hello);
std::string make_challenge(const secret_key& key, std::string_view hello);
bool is_answer(const secret_key& key, std::string_view hello, std::string_view challenge, std::string_view answer);

}  // namespace lci::launcher
