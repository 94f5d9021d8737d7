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

/// Fresh random bytes. Throws resource_error.
nonce new_nonce();
/// Constant time, wherever they differ.
bool equal(const proof& a, const proof& b);
bool equal(const nonce& a, const nonce& b);

/// Immutable, so thread-safe. With a key both sides send an HMAC-SHA256, by libcrypto, of a text with fresh random
/// bytes of both, so none is of use in another connection or in the other direction.
class credentials {
 public:
  /// Reads the key file. Throws invalid_argument_error.
  explicit credentials(const net_context_attr_t& attr);

  bool has_key() const { return !key_.empty(); }
  /// Whether addresses other than the loopback may be used: there is a key, or the program has asked for `none`.
  bool may_leave_host() const { return has_key() || none_is_wanted_; }
  /// `role`: who proves. All zeros without a key.
  proof prove(const char* role, const std::string& hello, const nonce& of_server) const;

 private:
  std::string key_;
  bool none_is_wanted_ = false;
};

}  // namespace lci::network::outside
