// The root folder: resolves paths of clients to descriptors below the root.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <string>

#include "../descriptor.hpp"

namespace io_server {

/// The last component of a path, which names what is created, removed or renamed.
struct last_name {
  enum class kind { normal, dot, dotdot, root };
  kind what = kind::normal;
  std::string text;  ///< if normal: with the `/` that may follow it, by which the kernel requires a folder
  bool is_normal() const { return what == kind::normal; }
  bool has_slash() const { return !text.empty() && text.back() == '/'; }
};

/// Resolves paths as if the root were `/`: `..` does not leave it, and absolute symbolic links start at it. If the
/// kernel has openat2(), it does this without races; otherwise walk() opens each component without following links.
/// Thread-safe.
class root_folder {
 public:
  /// Opens the root. Throws std::system_error. `walk`: do not use openat2().
  root_folder(const std::string& path, bool walk);

  /// As open(2). On failure returns no descriptor and sets `errno`. `folder`: the descriptor of the folder to which the
  /// path is relative, as of openat(); -1: the root.
  descriptor open(const std::string& path, int flags, mode_t mode = 0, int folder = -1) const;
  /// Opens the folder in which a path's last component is, or from which `.` or `..` leads. For the root itself: the
  /// root.
  descriptor parent(const std::string& path, last_name& name, int folder = -1) const;
  /// The path of an open folder, without symbolic links, `.` and `..`. It begins with `/`, which means the root.
  /// Returns an empty string if the path is unknown, e.g. if the folder has been removed.
  std::string path_of(int folder) const;

 private:
  bool absolute(int folder, const std::string& path, std::string& result) const;
  descriptor walk(const std::string& path, int flags, mode_t mode) const;

  descriptor root_;
  bool walks_;
};

}  // namespace io_server
