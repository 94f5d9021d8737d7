// The root folder: resolves paths of clients to descriptors below the root.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <string>

#include "../descriptor.hpp"

namespace io_server {

/// Resolves paths as if the root were `/`: `..` does not leave it, and absolute symbolic links start at it. If the
/// kernel has openat2(), it does this without races; otherwise walk() opens each component without following links.
/// Thread-safe.
class root_folder {
 public:
  /// Opens the root. Throws std::system_error. `walk`: do not use openat2().
  root_folder(const std::string& path, bool walk);

  /// As open(2). On failure returns no descriptor and sets `errno`.
  descriptor open(const std::string& path, int flags, mode_t mode = 0) const;
  /// Opens the folder that contains a path's last component, and stores that component in `name`. Fails with EBUSY for
  /// the root, and with EINVAL if the last component is `.` or `..`.
  descriptor parent(const std::string& path, std::string& name) const;

 private:
  descriptor walk(const std::string& path, int flags, mode_t mode) const;

  descriptor root_;
  bool walks_;
};

}  // namespace io_server
