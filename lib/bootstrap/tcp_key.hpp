// The job's secret key. Both sides of a join prove that they know it without sending it: HMAC-SHA256 over nonces of
// both sides, computed by the system's libcrypto.
#pragma once

#include <string>

namespace lci::network::tcp {

constexpr size_t min_key = 16;

class job_key {
 public:
  /// Reads LCI_TCP_KEY. Throws bootstrap_error if it is too short, or if this build or system has no libcrypto for it.
  job_key();

  bool given() const { return !secret_.empty(); }

  /// The HMAC of `text`; empty if there is no key.
  std::string proof(const std::string& text) const;
  /// Compares in constant time.
  static bool same(const std::string& a, const std::string& b);

 private:
  std::string secret_;
};

/// The texts whose HMACs root and rank send. They contain role, rank and size, so that no proof can be reused for
/// another purpose.
std::string root_claim(const std::string& rank_nonce, const std::string& root_nonce, int rank, int size);
std::string rank_claim(const std::string& rank_nonce, const std::string& root_nonce, int rank, int size);

/// Fresh random bytes.
std::string make_nonce(size_t size);

/// `bytes` as hexadecimal digits.
std::string hex(const std::string& bytes);

}  // namespace lci::network::tcp
