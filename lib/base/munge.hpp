// Credentials of MUNGE, the authentication service of clusters: libmunge, loaded at the first use, asks the local munged.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace lci {

/// Why this build or this system can't use munge, and the remedy; empty if it can. Thread-safe.
std::string why_no_munge();

/// A text that says that this process's user has made it, with `content` in it; empty if munged does not answer.
/// `socket`: of munged, empty: the usual one. Only where why_no_munge() is empty. Thread-safe.
std::string munge_credential(const std::string& socket, const std::string& content);

struct munge_found {
  std::string text;
  uid_t user = 0;
  gid_t group = 0;
};

/// What a credential says; nothing if it is none, was made with another key, has expired or has been read before, here
/// or by another process of this host. Thread-safe.
std::optional<munge_found> munge_content(const std::string& socket, const char* credential);

}  // namespace lci
