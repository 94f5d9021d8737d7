#include "lib/base/hmac.hpp"

#ifdef LCI_WITH_CRYPTO
#include <dlfcn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

namespace lci {

#ifdef LCI_WITH_CRYPTO

namespace {

struct library {
  decltype(&::HMAC) hmac = nullptr;
  decltype(&::EVP_sha256) sha256 = nullptr;
  std::string missing;  // why the functions are null; else empty

  library() {
    void* const handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      missing = std::string(dlerror()) + "; install OpenSSL's (Debian: libssl3)";
      return;
    }
    hmac = reinterpret_cast<decltype(hmac)>(dlsym(handle, "HMAC"));
    sha256 = reinterpret_cast<decltype(sha256)>(dlsym(handle, "EVP_sha256"));
    const auto init = reinterpret_cast<decltype(&::OPENSSL_init_crypto)>(dlsym(handle, "OPENSSL_init_crypto"));
    if (hmac == nullptr || sha256 == nullptr || init == nullptr)
      missing = "libcrypto.so.3 has no HMAC with SHA-256";
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
