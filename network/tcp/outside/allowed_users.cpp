#include "network/tcp/outside/allowed_users.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "lib/base/check.hpp"

namespace lci::network::outside {

namespace {

/// Calls getpwnam_r() or getgrnam_r() with a buffer that is large enough. Returns false if there is no such entry.
template <class Entry, class Get>
bool look_up(const std::string& name, Entry& entry, Get get) {
  constexpr size_t most = size_t{1} << 24;  // bytes; a group with 10^5 members needs some 10^6
  Entry* found = nullptr;
  std::vector<char> buffer(1024);
  for (;;) {
    const int error = get(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (error == EINTR) continue;
    if (error != ERANGE || buffer.size() >= most) return found != nullptr;
    buffer.resize(4 * buffer.size());
  }
}

std::optional<uint32_t> number_in(const std::string& text) {
  uint32_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return n;
}

std::optional<uid_t> user_of(const std::string& name) {
  passwd entry{};
  return look_up(name, entry, getpwnam_r) ? entry.pw_uid : number_in(name);
}
std::optional<gid_t> group_of(const std::string& name) {
  group entry{};
  return look_up(name, entry, getgrnam_r) ? entry.gr_gid : number_in(name);
}

[[noreturn]] void refuse_list(const std::string& list, const std::string& why) {
  throw_invalid("alloc_net_context", "peer_users", '"' + list + '"',
                "names or numbers of users, and of groups behind %, separated by commas, as in alice,1001,%hpc", why);
}

}  // namespace

allowed_users::allowed_users(const std::string& list) {
  for (size_t begin = 0; !list.empty() && begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    begin = end + 1;
    if (item.empty() || item == "%") refuse_list(list, "a name is missing");
    if (item.front() == '%') {
      const auto id = group_of(item.substr(1));
      if (!id) refuse_list(list, "this system has no group " + item.substr(1));
      groups_.push_back(*id);
    } else {
      const auto id = user_of(item);
      if (!id) refuse_list(list, "this system has no user " + item);
      users_.push_back(*id);
    }
  }
}

bool allowed_users::has(uid_t user, gid_t group) const {
  return user == geteuid() || std::find(users_.begin(), users_.end(), user) != users_.end() ||
         std::find(groups_.begin(), groups_.end(), group) != groups_.end();
}

}  // namespace lci::network::outside
