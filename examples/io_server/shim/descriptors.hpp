// The process's descriptors of remote files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "process.hpp"

namespace io_shim {

/// The state that all descriptors of one open() share, e.g. the position, also in processes that have inherited them.
/// It is stored in an anonymous file, and the program's descriptor is that file's. So the system assigns the numbers,
/// dup() and exec() work unchanged, and an executed program finds the state of inherited descriptors here.
struct shared_state;

/// An open file or folder of the server. Shared by the table of descriptors and calls that use it. Thread-safe.
class remote_file {
 public:
  /// Maps the state of an inherited descriptor. Returns null and sets `errno` if it is not a descriptor of this
  /// library.
  static std::shared_ptr<remote_file> inherit(int fd);
  /// Creates a descriptor. Returns -1 and sets `errno` on failure.
  static int create(const std::string& path, int flags, const io_server::client::opened& what, io_server::client* owner,
                    std::shared_ptr<remote_file>& file);
  ~remote_file();
  remote_file(const remote_file&) = delete;
  remote_file& operator=(const remote_file&) = delete;

  std::string path() const;
  int flags() const;
  void set_flags(int flags);
  /// Returns whether this is the working folder that an executed program inherits.
  bool is_cwd() const;
  void mark_as_cwd();

  /// Gets the file's handle at the server. A process that has inherited the descriptor first opens the file again by
  /// its path. Returns 0 or an errno: EIO if the connection is lost, ESTALE if another file is at the path now.
  int use(io_server::client** client, uint64_t* handle);
  /// For a forked child, since the handle belongs to the parent's connection.
  void forget_handle() { client_ = nullptr; }

  /// The position, locked for all processes that share it.
  class position {
   public:
    explicit position(remote_file& file);
    ~position();
    position(const position&) = delete;
    position& operator=(const position&) = delete;
    int64_t get() const;
    void set(int64_t to);

   private:
    shared_state* state_;
  };

 private:
  explicit remote_file(shared_state* state) : state_(state) {}

  shared_state* const state_;
  std::mutex mutex_;
  io_server::client* client_ = nullptr;  // under mutex_; null: not opened by this process
  uint64_t handle_ = 0;                  // under mutex_
};

bool is_remote(int fd);
std::shared_ptr<remote_file> file_of(int fd);
/// Associates the descriptor with a remote file; null: with none.
void set_file(int fd, std::shared_ptr<remote_file> file);
/// The process's descriptors of remote files.
std::vector<int> remote_descriptors();
/// Calls forget_handle() for all files, in a forked child.
void forget_handles();

/// A scope in which a remote file is used. Holds a remote_call, the client and the file's handle.
class using_file {
 public:
  explicit using_file(int fd);
  /// 0, or an errno if the file can't be used.
  int error() const { return error_; }
  io_server::client& client() const { return *client_; }
  uint64_t handle() const { return handle_; }
  remote_file& file() const { return *file_; }

 private:
  remote_call call_;
  std::shared_ptr<remote_file> file_;
  io_server::client* client_ = nullptr;
  uint64_t handle_ = 0;
  int error_;
};

}  // namespace io_shim
