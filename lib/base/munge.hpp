// Credentials of MUNGE, the authentication service of clusters. libmunge, which is loaded at the first use, connects to
// the munged of this host.
#pragma once

#include <sys/types.h>

#include <string>

namespace lci {

/// The reason why this build or this system can't use munge, and the remedy; empty if it can. Thread-safe.
std::string why_no_munge();

/// Creates a credential: a text that contains `content` and proves that this process's user has created it. Returns an
/// empty string if munged does not answer, for which libmunge may wait more than 20 seconds. `socket`: path of munged's
/// socket; empty: libmunge's default. Requires that why_no_munge() is empty. Thread-safe.
std::string munge_credential(const std::string& socket, const std::string& content);

struct munge_found {
  enum class result : unsigned char {
    valid,
    invalid,   ///< malformed, created with another key, expired, or decoded before by any process of this host
    no_answer  ///< of munged, or there is no memory
  };
  result is = result::no_answer;
  std::string text;
  uid_t user = 0;
  gid_t group = 0;
};

/// Decodes a credential. May wait as munge_credential(). Thread-safe.
munge_found munge_content(const std::string& socket, const char* credential);

}  // namespace lci
