#include "lib/base/hmac.hpp"

#ifdef LCI_WITH_CRYPTO
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "lib/base/loaded_library.hpp"
#endif

namespace lci {

#ifdef LCI_WITH_CRYPTO

namespace {

struct library {
  decltype(&::HMAC) hmac = nullptr;
  decltype(&::EVP_sha256) sha256 = nullptr;
  std::string missing;  // the reason if a function is null; else empty

  library() {
    loaded_library crypto({"libcrypto.so.3"});
    decltype(&::OPENSSL_init_crypto) init = nullptr;
    crypto.find("HMAC", hmac);
    crypto.find("EVP_sha256", sha256);
    crypto.find("OPENSSL_init_crypto", init);
    if (!crypto.missing().empty())
      missing = crypto.missing() + "; install OpenSSL's (Debian: libssl3)";
    else
      init(OPENSSL_INIT_NO_ATEXIT, nullptr);  // threads of ours may still run after exit() has called its handlers
  }
};

/// Loaded on first use, so only programs with a key pay for it.
const library& crypto() {
  static const library loaded;
  return loaded;
}

}  // namespace

std::string why_no_hmac() { return crypto().missing; }

std::optional<hmac_digest> hmac_sha256(const std::string& key, const std::string& text) {
  const library& l = crypto();
  hmac_digest digest;
  unsigned size = 0;
  if (l.hmac(l.sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
             text.size(), digest.data(), &size) == nullptr ||
      size != digest.size())
    return std::nullopt;
  return digest;
}

#else

std::string why_no_hmac() {
  return "this LCI was built without OpenSSL's headers; install them (Debian: libssl-dev) and build again";
}

std::optional<hmac_digest> hmac_sha256(const std::string&, const std::string&) { return std::nullopt; }

#endif

}  // namespace lci
