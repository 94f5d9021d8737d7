// The root folder: paths of clients become descriptors, and none leads out of it.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <string>
#include <utility>

namespace io_server {

/// Owns a descriptor, or none (-1).
class descriptor {
 public:
  explicit descriptor(int fd = -1) : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Thread-safe. A path is resolved as if the root were `/`: `..` does not leave it, absolute symbolic links start at it.
/// Where the kernel has openat2(), it does so and excludes races; else each component is opened without following links.
class root_folder {
 public:
  /// Throws std::system_error. `walk`: do without openat2().
  root_folder(const std::string& path, bool walk);

  /// As open(); none, with `errno`, on failure.
  descriptor open(const std::string& path, int flags, mode_t mode = 0) const;
  /// The folder that a path's last component is in, which is stored in `name`. Fails with EBUSY for the root, and with
  /// EINVAL where the last component is `.` or `..`.
  descriptor parent(const std::string& path, std::string& name) const;

 private:
  descriptor walk(const std::string& path, int flags, mode_t mode) const;

  descriptor root_;
  bool walks_;
};

}  // namespace io_server
