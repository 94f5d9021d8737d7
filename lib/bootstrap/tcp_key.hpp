// The job's key, which both sides of a join prove to have without saying it: HMAC-SHA256 over nonces
// of both, by the system's libcrypto.
#pragma once

#include <string>

namespace lci::network::tcp {

constexpr size_t min_key = 16;

class job_key {
 public:
  /// LCI_TCP_KEY. Throws bootstrap_error if it is too short, or can't be used in this build or here.
  job_key();

  bool given() const { return !secret_.empty(); }

  /// What only who has the key can say; empty without one.
  std::string proof(const std::string& text) const;
  /// Takes as long whatever the difference is.
  static bool same(const std::string& a, const std::string& b);

 private:
  std::string secret_;
};

/// What root and rank prove the key with: roles and numbers are part of it, so that no proof can be
/// used for another purpose.
std::string root_claim(const std::string& rank_nonce, const std::string& root_nonce, int rank,
                       int size);
std::string rank_claim(const std::string& rank_nonce, const std::string& root_nonce, int rank,
                       int size);

/// Random bytes that nobody has seen before.
std::string make_nonce(size_t size);

/// `bytes` as hexadecimal digits.
std::string hex(const std::string& bytes);

}  // namespace lci::network::tcp
