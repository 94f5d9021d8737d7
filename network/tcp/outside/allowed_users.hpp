// The users and groups whose processes may connect with munge, beside this process's user.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lci::network::outside {

/// Immutable, so thread-safe.
class allowed_users {
 public:
  /// `list`: the value of the attribute `peer_users`. Throws invalid_argument_error if it names a user or group that
  /// this system does not know.
  explicit allowed_users(const std::string& list);

  /// Returns true if a process of that user, whose effective group is `group`, may connect.
  bool has(uid_t user, gid_t group) const;

 private:
  std::vector<uid_t> users_;
  std::vector<gid_t> groups_;
};

}  // namespace lci::network::outside
