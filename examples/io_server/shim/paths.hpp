// Which paths are the server's.
#pragma once

#include <optional>
#include <string>

namespace io_shim {

/// Where the server is and which paths it serves, from the environment. Unchanging.
struct settings {
  std::string server;   ///< IOD_SERVER; empty: nothing is remote
  std::string prefix;   ///< IOD_PREFIX, as /remote
  double timeout = 60;  ///< IOD_TIMEOUT, seconds
};
const settings& configured();

/// A path as a call got it: the server's, by a path below its root, or one of this system.
class place {
 public:
  place(int folder, const char* path);
  explicit place(const char* path);

  bool remote() const { return remote_; }
  const std::string& inner() const { return text_; }
  /// For the real function; null if the call's path was null.
  const char* local() const { return rewritten_ ? text_.c_str() : given_; }

 private:
  void resolve(const std::string& absolute);

  const char* given_;
  bool remote_ = false, rewritten_ = false;
  std::string text_;
};

/// The working folder, if it is the server's: a path below its root. The system's own working folder stays where it was.
std::optional<std::string> remote_cwd();
void set_remote_cwd(std::optional<std::string> inner);
/// How programs see a path of the server.
std::string outer(const std::string& inner);
/// What programs write as the target of a symbolic link, as the server stores it, and back.
std::string stored_target(const char* target);

}  // namespace io_shim
