// Decides which paths are remote, i.e. below the prefix.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "../client/client.hpp"

namespace io_shim {

class remote_file;

/// The configuration from the environment. Constant. A 0 byte follows each text.
struct settings {
  std::string_view server;  ///< IOD_SERVER; empty: nothing is remote
  std::string_view prefix;  ///< IOD_PREFIX, e.g. /remote
  double timeout = 60;      ///< IOD_TIMEOUT, seconds
};
const settings& configured();

/// A path that a program has passed to a call. It is either remote, with a path below the server's root, or local.
/// `/dev/stdin`, `/dev/fd/3` and `/proc/self/fd/3` are remote if that descriptor is one of a remote file, and
/// `/proc/self/cwd` if the working folder is remote. If there is no memory to find that out a path counts as remote,
/// and inner() throws std::bad_alloc: most calls may throw nothing, and make requests where exceptions become errors.
class place {
 public:
  place(int folder, const char* path) noexcept;
  explicit place(const char* path) noexcept;

  bool remote() const { return remote_; }
  const std::string& inner() const {
    if (unknown_) throw std::bad_alloc();
    return text_;
  }
  /// The same for a request. A path that the program has passed relative to a folder stays relative to it, also if the
  /// folder has been moved. The client must be the present one, and the caller in a remote_call.
  io_server::location at(io_server::client& c) const;
  /// Returns whether the path names one of the process's descriptors of remote files, or the working folder, by a link
  /// of /dev or /proc; inner() is the file's path.
  bool names_descriptor() const { return names_descriptor_; }
  /// Returns the descriptor that the path names by such a link; -1 if it names none.
  int descriptor() const { return descriptor_; }
  /// The path for the real function; null if the program has passed null.
  const char* local() const { return rewritten_ ? text_.c_str() : given_; }

 private:
  void find(int folder, const char* path);
  void resolve(const std::string& absolute);
  void resolve_descriptor(const char* path);
  void stay_in_cwd(const char* path);
  void stay_relative(std::shared_ptr<remote_file> folder, const char* path);

  const char* given_;
  bool remote_ = false, rewritten_ = false, stays_below_ = false, unknown_ = false, names_descriptor_ = false;
  int descriptor_ = -1;
  std::string text_;
  // The folder to which the path is relative, and the rest of the path. text_ is where it was when it was opened.
  std::shared_ptr<remote_file> folder_;
  const char* relative_ = nullptr;
};

/// The working folder as a path below the server's root, if it is remote. The system's working folder is unchanged
/// then.
std::optional<std::string> remote_cwd();
void set_remote_cwd(std::optional<std::string> inner);
/// The path by which programs access a path below the server's root: with the prefix.
std::string outer(const std::string& inner);
/// Converts the target of a symbolic link from the program's form, with the prefix, to the server's.
std::string stored_target(const char* target);
/// The reverse: an absolute target is relative to the server's root, so the program's form begins with the prefix.
std::string shown_target(const std::string& stored);

}  // namespace io_shim
