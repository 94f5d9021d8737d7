// The client library: operations on files of the server that resemble the system calls.
#pragma once

#include <sys/stat.h>
#include <sys/statfs.h>

#include <climits>
#include <cstdint>
#include <string>
#include <string_view>

#include "connection.hpp"
#include "lent_files.hpp"
#include "staging.hpp"

namespace io_server {

/// A path that is relative to the server's root, or to an open folder.
struct location {
  location(std::string_view p) : path(p) {}    // NOLINT(google-explicit-constructor)
  location(const std::string& p) : path(p) {}  // NOLINT(google-explicit-constructor)
  location(const char* p) : path(p) {}         // NOLINT(google-explicit-constructor)
  location(uint64_t of_folder, std::string_view p) : folder(of_folder), path(p) {}

  uint64_t folder = 0;  ///< its handle; 0: the root
  std::string_view path;
};

/// A client of a server. Paths are relative to the server's root, and can't escape it. Every function returns 0 or an
/// errno. Open files belong to the connection: the server closes them when the connection ends or fails. Thread-safe.
class client {
 public:
  client(const std::string& address, double timeout)
      : connection_(address, timeout), staging_(connection_), lent_(connection_) {}

  struct opened {
    /// Set by the caller: a random number, by which clients open the same open file, e.g. with its flock(); or 0.
    uint64_t number = 0;
    uint64_t handle = 0;
    struct statx status = {};
    /// The path of a folder below the root, without symbolic links; it begins with `/`. Empty if it is unknown, and for
    /// a file.
    char path[PATH_MAX] = {};
  };

  int open(const location& at, int flags, mode_t mode, opened* file);
  int close(uint64_t handle);

  /// Reads up to `size` bytes and stores their number in `*done`. It is less than `size` at the end of the file, and
  /// after an error, when it is the number of bytes read before.
  int read(uint64_t handle, void* to, size_t size, int64_t offset, size_t* done);
  /// Writes; `offset` -1 appends. Stores the offset after the written bytes in `*behind`, unless it is null.
  int write(uint64_t handle, const void* from, size_t size, int64_t offset, size_t* done, int64_t* behind = nullptr);

  /// On the server's host: a copy of the server's descriptor of a regular file, to map it; `access`: as of open(). The
  /// caller closes it before it closes the file. None if the server is on another host or does not lend.
  descriptor to_map(uint64_t handle, int access) { return lent_.to_map(handle, access, staging_); }

  /// lseek() with SEEK_DATA or SEEK_HOLE.
  int seek(uint64_t handle, int64_t offset, int whence, int64_t* found);

  int stat(const location& at, bool follow, struct statx* status);
  int stat(uint64_t handle, struct statx* status);
  int statfs(const location& at, struct statfs* status);
  int readlink(const location& at, char* to, size_t room, size_t* size);
  /// Stores the present path of an open folder. Returns ENOENT if the folder has been removed.
  int locate(uint64_t folder, std::string* path);
  /// Reads records of getdents64() that follow a position, which is the `d_off` of a record. Sets `*size` to 0 at the
  /// end.
  int list(uint64_t handle, int64_t position, void* to, size_t room, size_t* size);

  /// Requests with a text and numbers only, see protocol.hpp.
  int call(op what, const location& at, int64_t a = 0, int64_t b = 0, int64_t c = 0);
  /// The same with two texts, of which the first may be the target of a symbolic link.
  int call(op what, const location& at, const location& at2, int64_t a);
  int call(op what, uint64_t handle, int64_t a = 0, int64_t b = 0, int64_t c = 0);
  /// Tests for a conflicting lock. Stores its type, or F_UNLCK, in `*type`, its start in `at[0]` and its length in
  /// `at[1]`.
  int test_lock(uint64_t handle, int64_t wanted, int* type, int64_t at[2]);

  bool is_lost() const { return connection_.is_lost(); }
  /// Ends the session without freeing memory, for a process that is about to exit. Later calls return EIO.
  void leave() { connection_.leave(); }

 private:
  connection connection_;
  staging staging_;
  lent_files lent_;
};

}  // namespace io_server
