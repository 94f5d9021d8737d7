// HMAC-SHA256 as RFC 4231 defines it, and the comparison of digests.
#include "lib/base/hmac.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace {

std::string digits_of(const lci::hmac_digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

TEST_CASE("an HMAC is that of RFC 4231, or the reason why there is none names the remedy", "[hmac]") {
  if (const std::string missing = lci::why_no_hmac(); !missing.empty()) {
    CHECK(missing.find("install") != std::string::npos);
    return;
  }
  const auto digest = lci::hmac_sha256("Jefe", "what do ya want for nothing?");
  REQUIRE(digest);
  CHECK(digits_of(*digest) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_CASE("texts are equal in constant time only if all their bytes are", "[hmac]") {
  const std::string key = "a key of 16 byte";
  CHECK(lci::equal_in_constant_time(key, key));
  CHECK_FALSE(lci::equal_in_constant_time(key, key.substr(1)));
  for (size_t i = 0; i < key.size(); ++i) {
    std::string other = key;
    other[i] ^= 64;
    CHECK_FALSE(lci::equal_in_constant_time(key, other));
  }
}
