// Authentication of connections to peers outside of the job.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lci/attributes.hpp"
#include "lib/base/hmac.hpp"
#include "network/tcp/outside/allowed_users.hpp"

namespace lci::network::outside {

using nonce = std::array<unsigned char, 16>;
using proof = hmac_digest;
/// Size in bytes of the field for a credential of munge, which is padded with 0. A credential has about 250 bytes.
constexpr size_t credential_size = 1024;

/// Fresh random bytes. Throws resource_error.
nonce new_nonce();
/// Compares in constant time, independently of the position of a difference.
bool equal(const proof& a, const proof& b);
bool equal(const nonce& a, const nonce& b);

/// Says whether a credential is one that its peer should have sent; `unknown`: munged does not answer.
enum class confirmation : uint8_t { yes, no, unknown };

/// The method of authentication, as sent in a hello.
enum class auth : uint8_t { none, secret, munge };

/// Proves this process's identity and verifies that of peers. Immutable, so thread-safe.
///
/// With munge, each side sends a credential that contains its role and random bytes of both sides. The verifier's
/// munged says which user's process has made it, and rejects a replay; allowed_users decides whether that user may
/// connect. With a key, each side sends an HMAC-SHA256 (by libcrypto) of the same data. So a proof is invalid in any
/// other connection and in the other direction.
class credentials {
 public:
  /// Reads the key file. Throws invalid_argument_error.
  explicit credentials(const net_context_attr_t& attr);

  auth how() const { return how_; }
  bool has_key() const { return how_ == auth::secret; }
  /// Returns whether addresses other than the loopback may be used: peers are authenticated, or the program has set
  /// `none`.
  bool may_leave_host() const { return how_ != auth::none || none_is_wanted_; }
  /// `role`: who proves. All zeros without a key.
  proof prove(const char* role, const std::string& hello, const nonce& of_server) const;

  /// Requests a credential of this process's user from munged. Returns `credential_size` bytes, or an empty string if
  /// munged does not make one. Blocks until munged answers, or for more than 20 seconds if it does not: only
  /// munge_thread calls it.
  std::string vouch(const char* role, const std::string& hello, const nonce& of_server) const;
  /// Returns whether a credential is one that vouch() has made with the same arguments, in a process of an allowed
  /// user. Blocks as vouch().
  confirmation confirms(const std::string& credential, const char* role, const std::string& hello,
                        const nonce& of_server) const;

 private:
  auth how_ = auth::none;
  std::string key_;
  std::string socket_;  // munged's socket; empty: munge's default
  allowed_users users_;
  bool none_is_wanted_ = false;
};

}  // namespace lci::network::outside
