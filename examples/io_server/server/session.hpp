// What one client has open. It ends with the client, however that ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <lci.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "root.hpp"

namespace io_server {

struct open_file {
  descriptor fd;
  int flags = 0;  ///< of open()
  std::pair<dev_t, ino_t> identity;
  std::mutex position;  ///< held while a folder is listed, which moves the descriptor's position
};

/// Registered memory of a session, through which a client on this host writes. It lives as long as the
/// session, and is touched where it is used.
class staging_memory {
 public:
  staging_memory();
  ~staging_memory();
  staging_memory(const staging_memory&) = delete;
  staging_memory& operator=(const staging_memory&) = delete;

  lci::rmr_t remote() const;
  /// Null if this range is none of the memory.
  const char* at(int64_t place, int64_t size) const;

 private:
  char* memory_ = nullptr;
  lci::mr_t region_;
};

/// Thread-safe. A thread that executes a request keeps the file that it uses, also if the session ends meanwhile.
class session {
 public:
  /// Returns the handle, or 0 if the client has too many files open.
  uint64_t add(std::shared_ptr<open_file> file);
  std::shared_ptr<open_file> find(uint64_t handle) const;
  /// False: no such handle. Ends the client's locks of the file, as close() ends those of a process.
  bool remove(uint64_t handle);
  /// Closes all. Nothing can be added afterwards.
  void end();

  /// The descriptor that holds the client's locks on a file. As fcntl() locks belong to a process, these belong to the
  /// client, not to one of its handles. None, with `errno`, if it can't be opened. It lives as long as the pointer.
  std::shared_ptr<const descriptor> lock_holder(const open_file& file);

  /// Made when it is first asked for. Throws what register_memory() throws.
  const staging_memory& staging();

  /// Held while a staged write is executed. Who takes requests locks it before another thread may take the next one, so
  /// these writes have the order of their requests.
  std::mutex writing;
  uint32_t cut_group = 0;  ///< the last group of which a write was cut short; under `writing`

 private:
  static constexpr size_t most_files = 65536;

  mutable std::mutex mutex_;
  bool ended_ = false;  // under mutex_, and so are the others
  uint64_t last_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<open_file>> files_;
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<const descriptor>> locks_;
  std::unique_ptr<staging_memory> staging_;
};

/// The sessions, by the client's id. Thread-safe.
class session_table {
 public:
  /// Begins one; an earlier one of the id ends.
  void begin(int client);
  /// Null if there is none.
  std::shared_ptr<session> find(int client) const;
  void end(int client);
  size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<int, std::shared_ptr<session>> all_;  // under mutex_
};

}  // namespace io_server
