// The client library: files of the server, by calls that resemble the system's.
#pragma once

#include <sys/stat.h>
#include <sys/statfs.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "connection.hpp"
#include "staging.hpp"

namespace io_server {

/// Paths are relative to the server's root; none leads out of it. Every call returns an errno, 0: success. Thread-safe.
/// Open files belong to the connection: the server closes them when it ends, however it ends.
class client {
 public:
  client(const std::string& address, double timeout) : connection_(address, timeout), staging_(connection_) {}

  struct opened {
    uint64_t handle = 0;
    struct statx status = {};
  };

  int open(std::string_view path, int flags, mode_t mode, opened* file);
  int close(uint64_t handle);

  /// Bytes read are in `*done`, fewer than `size` at the end of the file only. After an error `*done` is what was read
  /// before it.
  int read(uint64_t handle, void* to, size_t size, int64_t offset, size_t* done);
  /// `offset` -1: at the end of the file; `*behind`, if given, gets the offset behind what was written.
  int write(uint64_t handle, const void* from, size_t size, int64_t offset, size_t* done, int64_t* behind = nullptr);

  int stat(std::string_view path, bool follow, struct statx* status);
  int stat(uint64_t handle, struct statx* status);
  int statfs(std::string_view path, struct statfs* status);
  int readlink(std::string_view path, char* to, size_t room, size_t* size);
  /// Records of getdents64() behind a position; `*size` 0: the end. Positions are the `d_off` of records.
  int list(uint64_t handle, int64_t position, void* to, size_t room, size_t* size);

  /// What has texts and numbers only: see protocol.hpp.
  int call(op what, std::string_view text, int64_t a = 0, int64_t b = 0, int64_t c = 0, std::string_view text2 = {});
  int call(op what, uint64_t handle, int64_t a = 0, int64_t b = 0, int64_t c = 0);
  /// Tests for a lock: its type, or F_UNLCK, is in `*type`; where it is in `at[0]`, `at[1]`.
  int test_lock(uint64_t handle, int* type, int64_t at[2]);

  bool is_lost() const { return connection_.is_lost(); }
  /// Ends the session; later calls return EIO. For a process that is about to end: it frees nothing.
  void leave() { connection_.leave(); }

 private:
  connection connection_;
  staging staging_;
};

}  // namespace io_server
