// Who may connect: what both sides of a connection prove to each other before anything else.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lci/attributes.hpp"
#include "lib/base/hmac.hpp"

namespace lci::network::outside {

using nonce = std::array<unsigned char, 16>;
using proof = hmac_digest;
/// Room for a credential of munge, whose rest is 0. One of ours has some 250 bytes.
constexpr size_t credential_size = 1024;

/// Fresh random bytes. Throws resource_error.
nonce new_nonce();
/// Constant time, wherever they differ.
bool equal(const proof& a, const proof& b);
bool equal(const nonce& a, const nonce& b);

/// As in a hello.
enum class auth : uint8_t { none, secret, munge };

/// Immutable, so thread-safe. With a key both sides send an HMAC-SHA256, by libcrypto, of a text with fresh random bytes
/// of both, so none is of use in another connection or in the other direction. With munge both sides send a credential
/// with this text, and the other side's munged says whether it is of the same user; it accepts a credential once.
class credentials {
 public:
  /// Reads the key file. Throws invalid_argument_error.
  explicit credentials(const net_context_attr_t& attr);

  auth how() const { return how_; }
  bool has_key() const { return how_ == auth::secret; }
  /// Whether addresses other than the loopback may be used: there is a proof, or the program has asked for `none`.
  bool may_leave_host() const { return how_ != auth::none || none_is_wanted_; }
  /// `role`: who proves. All zeros without a key.
  proof prove(const char* role, const std::string& hello, const nonce& of_server) const;

  /// A credential of this process's user, of `credential_size` bytes; empty if munged can't make one. Asks munged, which
  /// takes some hundred microseconds, and longer if it has failed.
  std::string vouch(const char* role, const std::string& hello, const nonce& of_server) const;
  /// Whether a credential is one that vouch() has made with the same arguments, in a process of the same user.
  bool confirms(const std::string& credential, const char* role, const std::string& hello,
                const nonce& of_server) const;

 private:
  auth how_ = auth::none;
  std::string key_;
  std::string socket_;  // of munged; empty: the usual one
  bool none_is_wanted_ = false;
};

}  // namespace lci::network::outside
