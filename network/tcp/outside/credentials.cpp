#include "network/tcp/outside/credentials.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "lib/base/hmac.hpp"
#include "lib/base/munge.hpp"
#include "network/common/liveness_socket.hpp"

namespace lci::network::outside {

namespace {

constexpr size_t shortest_key = 16, longest_key = 4096;
constexpr const char* operation = "alloc_net_context";

proof digest_of(const std::string& key, const std::string& text) {
  const auto digest = hmac_sha256(key, text);
  if (!digest) throw resource_error("peer_auth: libcrypto could not compute an HMAC with SHA-256");
  return *digest;
}

std::string text_of(const char* role, const std::string& hello, const nonce& of_server) {
  std::string text(role);
  text += '\0';
  text += hello;
  text.append(reinterpret_cast<const char*>(of_server.data()), of_server.size());
  return text;
}

std::string read_key(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw_invalid(operation, "peer_key_file", '"' + path + '"',
                  "a file of 16 to 4096 bytes that nobody but its owner may read",
                  why + "; `head -c 32 /dev/urandom | base64 > FILE; chmod 600 FILE` makes one");
  };
  const socket_handle file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat s {};
  if (file.get() < 0 || fstat(file.get(), &s) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(s.st_mode)) refuse("it is no regular file");
  if (s.st_uid != geteuid() && s.st_uid != 0) refuse("it belongs to another user");
  if ((s.st_mode & 077) != 0) refuse("others may read or write it");
  std::string key(longest_key + 1, '\0');
  const ssize_t n = read(file.get(), key.data(), key.size());
  key.resize(n < 0 ? 0 : static_cast<size_t>(n));
  if (key.size() > longest_key) refuse("it is longer");
  // Editors end files with a line feed.
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
  if (key.size() < shortest_key) refuse("it is shorter");
  return key;
}

}  // namespace

nonce new_nonce() {
  nonce made;
  if (getrandom(made.data(), made.size(), 0) != static_cast<ssize_t>(made.size()))
    throw resource_error(std::string("tcp: no random bytes: ") + std::strerror(errno));
  return made;
}

bool equal(const proof& a, const proof& b) { return equal_in_constant_time(a, b); }
bool equal(const nonce& a, const nonce& b) { return equal_in_constant_time(a, b); }

credentials::credentials(const net_context_attr_t& attr) : users_(attr.peer_users) {
  const std::string& wanted = attr.peer_auth;
  if (!wanted.empty() && wanted != "none" && wanted != "secret" && wanted != "munge")
    throw_invalid(operation, "peer_auth", '"' + wanted + '"', "none, secret or munge, or empty");
  if (!attr.peer_users.empty() && wanted != "munge")
    throw_invalid(operation, "peer_users", '"' + attr.peer_users + '"', "empty",
                  "only munge says whose process a peer is: set peer_auth to munge");
  if (wanted == "munge") {
    const std::string missing = why_no_munge();
    if (!missing.empty()) throw_invalid(operation, "peer_auth", "munge", "supported by this library", missing);
    how_ = auth::munge;
    socket_ = attr.peer_key_file;
    return;
  }
  none_is_wanted_ = wanted == "none";
  if (none_is_wanted_) return;
  if (attr.peer_key_file.empty()) {
    if (wanted == "secret")
      throw_invalid(operation, "peer_key_file", "empty", "the path of the key", "peer_auth = secret needs it");
    return;
  }
  key_ = read_key(attr.peer_key_file);
  how_ = auth::secret;
  const std::string missing = why_no_hmac();
  if (!missing.empty()) throw_invalid(operation, "peer_auth", "secret", "supported by this library", missing);
}

proof credentials::prove(const char* role, const std::string& hello, const nonce& of_server) const {
  return has_key() ? digest_of(key_, text_of(role, hello, of_server)) : proof{};
}

std::string credentials::vouch(const char* role, const std::string& hello, const nonce& of_server) const {
  std::string made = munge_credential(socket_, text_of(role, hello, of_server));
  if (made.size() >= credential_size) made.clear();
  if (!made.empty()) made.resize(credential_size, '\0');
  return made;
}

confirmation credentials::confirms(const std::string& credential, const char* role, const std::string& hello,
                                   const nonce& of_server) const {
  if (credential.size() != credential_size || credential.back() != '\0') return confirmation::no;
  const munge_found found = munge_content(socket_, credential.c_str());
  if (found.is == munge_found::result::no_answer) return confirmation::unknown;
  const bool good = found.is == munge_found::result::valid && users_.has(found.user, found.group) &&
                    found.text == text_of(role, hello, of_server);
  return good ? confirmation::yes : confirmation::no;
}

}  // namespace lci::network::outside
