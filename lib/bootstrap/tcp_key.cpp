#include "lib/bootstrap/tcp_key.hpp"

#include <dlfcn.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#ifdef LCI_WITH_CRYPTO
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

#include "lci/errors.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/tcp_wire.hpp"

namespace lci::network::tcp {

namespace {

#ifdef LCI_WITH_CRYPTO

struct library {
  decltype(&::HMAC) hmac = nullptr;
  decltype(&::EVP_sha256) sha256 = nullptr;
  decltype(&::OPENSSL_init_crypto) init = nullptr;
};

/// Loaded on first use, so only jobs with a key pay for it.
const library& crypto() {
  static const library loaded = [] {
    void* const handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      throw bootstrap_error(std::string("LCI_TCP_KEY is set, but there is no library to use it: ") + dlerror() +
                            "; install OpenSSL's (Debian: libssl3)");
    }
    library l;
    l.hmac = reinterpret_cast<decltype(l.hmac)>(dlsym(handle, "HMAC"));
    l.sha256 = reinterpret_cast<decltype(l.sha256)>(dlsym(handle, "EVP_sha256"));
    l.init = reinterpret_cast<decltype(l.init)>(dlsym(handle, "OPENSSL_init_crypto"));
    if (l.hmac == nullptr || l.sha256 == nullptr || l.init == nullptr) {
      throw bootstrap_error("LCI_TCP_KEY is set, but libcrypto.so.3 has no HMAC with SHA-256");
    }
    // The root's thread may still run after exit() has called its handlers.
    l.init(OPENSSL_INIT_NO_ATEXIT, nullptr);
    return l;
  }();
  return loaded;
}

std::string hmac(const std::string& key, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (crypto().hmac(crypto().sha256(), key.data(), static_cast<int>(key.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
                    &size) == nullptr) {
    throw bootstrap_error("LCI_TCP_KEY: libcrypto could not compute an HMAC with SHA-256");
  }
  return std::string(reinterpret_cast<const char*>(digest.data()), size);
}

#else

std::string hmac(const std::string&, const std::string&) {
  throw bootstrap_error(
      "LCI_TCP_KEY is set, but this LCI was built without OpenSSL's headers; install them (Debian: "
      "libssl-dev) and build again, or unset it");
}

#endif

std::string claim(const char* role, const std::string& rank_nonce, const std::string& root_nonce, int rank, int size) {
  writer w;
  w.text(magic).text(role).text(rank_nonce).text(root_nonce);
  w.number(static_cast<uint32_t>(rank)).number(static_cast<uint32_t>(size));
  return w.body();
}

}  // namespace

job_key::job_key() {
  const char* text = env_text("LCI_TCP_KEY");
  if (text == nullptr) return;
  secret_ = text;
  if (secret_.size() < min_key) {
    throw bootstrap_error("LCI_TCP_KEY has " + std::to_string(secret_.size()) + " characters, at least " +
                          std::to_string(min_key) + " are needed; `openssl rand -hex 32` makes a good one");
  }
  proof("");  // throws now if libcrypto is missing
}

std::string job_key::proof(const std::string& text) const { return given() ? hmac(secret_, text) : std::string(); }

bool job_key::same(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

std::string root_claim(const std::string& rank_nonce, const std::string& root_nonce, int rank, int size) {
  return claim("root", rank_nonce, root_nonce, rank, size);
}

std::string rank_claim(const std::string& rank_nonce, const std::string& root_nonce, int rank, int size) {
  return claim("rank", rank_nonce, root_nonce, rank, size);
}

std::string make_nonce(size_t size) {
  std::string bytes(size, '\0');
  if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size)) {
    throw bootstrap_error(std::string("getrandom: ") + std::strerror(errno));
  }
  return bytes;
}

std::string hex(const std::string& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

}  // namespace lci::network::tcp
