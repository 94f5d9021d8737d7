#include "lib/bootstrap/tcp_key.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "lci/errors.hpp"
#include "lib/base/hmac.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/tcp_wire.hpp"

namespace lci::network::tcp {

namespace {

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
  const std::string missing = why_no_hmac();
  if (!missing.empty()) throw bootstrap_error("LCI_TCP_KEY is set, but can't be used: " + missing + ", or unset it");
}

std::string job_key::proof(const std::string& text) const {
  if (!given()) return {};
  const auto digest = hmac_sha256(secret_, text);
  if (!digest) throw bootstrap_error("LCI_TCP_KEY: libcrypto could not compute an HMAC with SHA-256");
  return std::string(reinterpret_cast<const char*>(digest->data()), digest->size());
}

bool job_key::same(const std::string& a, const std::string& b) { return equal_in_constant_time(a, b); }

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
