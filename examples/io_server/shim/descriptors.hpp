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

/// What all descriptors of one open() share, in all processes that have inherited them: the position among it. It is in an
/// anonymous file whose descriptor is the program's. So numbers are the system's, dup() and exec() keep them, and a
/// program that is executed finds here what its descriptors are.
struct shared_state;

/// An open file or folder of the server. Thread-safe.
class remote_file {
 public:
  /// Maps the state of a descriptor; null, with `errno`, if it is none of this library's.
  static std::shared_ptr<remote_file> inherit(int fd);
  /// Makes a descriptor; -1, with `errno`.
  static int create(const std::string& path, int flags, const io_server::client::opened& what, io_server::client* owner,
                    std::shared_ptr<remote_file>& file);
  ~remote_file();
  remote_file(const remote_file&) = delete;
  remote_file& operator=(const remote_file&) = delete;

  std::string path() const;
  int flags() const;
  void set_flags(int flags);
  /// Whether it stands for the working folder of a program that is executed.
  bool is_cwd() const;
  void mark_as_cwd();

  /// The file's handle at the server. A process that has inherited the descriptor opens the file once more, by its path.
  /// Returns an errno: EIO if the server was lost, ESTALE if there is another file at the path.
  int use(io_server::client** client, uint64_t* handle);
  /// After fork(): the handle is the parent's.
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
/// The descriptor now stands for the file; null: for none of the server's.
void set_file(int fd, std::shared_ptr<remote_file> file);
/// All of the process.
std::vector<int> remote_descriptors();
/// In a forked child.
void forget_handles();

/// A descriptor in use: a remote_call, the client, and the handle there.
class using_file {
 public:
  explicit using_file(int fd);
  /// 0, or an errno.
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
