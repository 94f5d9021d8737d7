// HMAC-SHA256, computed by the system's libcrypto, which is loaded at the first use.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace lci {

using hmac_digest = std::array<unsigned char, 32>;

/// Why this build or this system can't compute an HMAC, and the remedy; empty if it can. Thread-safe.
std::string why_no_hmac();

/// The HMAC-SHA256 of `text`; nothing if libcrypto fails. Only where why_no_hmac() is empty. Thread-safe.
std::optional<hmac_digest> hmac_sha256(const std::string& key, const std::string& text);

/// Compares two ranges of bytes in a time that does not depend on where they differ.
template <class T>
bool equal_in_constant_time(const T& a, const T& b) {
  if (a.size() != b.size()) return false;
  unsigned differences = 0;
  for (size_t i = 0; i < a.size(); ++i) differences |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differences == 0;
}

}  // namespace lci
