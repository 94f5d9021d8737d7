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

/// Fresh random bytes. Throws resource_error.
nonce new_nonce();
/// Compares in constant time, independently of the position of a difference.
bool equal(const proof& a, const proof& b);
bool equal(const nonce& a, const nonce& b);

/// The key, if there is one. With a key, each side sends an HMAC-SHA256 (by libcrypto) over its role and fresh random
/// bytes of both sides, so a proof is useless in another connection or in the other direction. Immutable, so
/// thread-safe.
class credentials {
 public:
  /// Reads the key file. Throws invalid_argument_error.
  explicit credentials(const net_context_attr_t& attr);

  bool has_key() const { return !key_.empty(); }
  /// Whether addresses other than the loopback may be used: if there is a key, or the program has requested `none`.
  bool may_leave_host() const { return has_key() || none_is_wanted_; }
  /// The proof of one side; `role`: which side. All zeros without a key.
  proof prove(const char* role, const std::string& hello, const nonce& of_server) const;

 private:
  std::string key_;
  bool none_is_wanted_ = false;
};

}  // namespace lci::network::outside
