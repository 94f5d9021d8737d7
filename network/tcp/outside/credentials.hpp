// Authentication of connections to peers outside of the job.
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
/// Compares in constant time, independently of the position of a difference.
bool equal(const proof& a, const proof& b);
bool equal(const nonce& a, const nonce& b);

/// As in a hello.
enum class auth : uint8_t { none, secret, munge };

/// How this process proves its identity. With munge each side sends a credential that contains its role and fresh random
/// bytes of both sides; the munged of the other side confirms that the same user has made it, and accepts it once. With a
/// key each side sends an HMAC-SHA256 (by libcrypto) over the same. So a proof is useless in another connection or in the
/// other direction. Immutable, so thread-safe.
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
