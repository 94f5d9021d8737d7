// The session of a client: its open files and locks. Ends when the client disconnects or fails.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <lci.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "root.hpp"

namespace io_server {

struct open_file;

/// Open files that several clients use, e.g. a process and the child that inherited its descriptor. A client finds such
/// a file by the random number that the first client gave it. Thread-safe.
class shared_files {
 public:
  /// Returns null if no client has a file open by this number.
  std::shared_ptr<open_file> find(uint64_t number) const;
  /// Returns the file, or the one that another client has added by this number.
  std::shared_ptr<open_file> add(uint64_t number, const std::shared_ptr<open_file>& file);
  /// Forgets the number of a file that no client has open any more; ~open_file() calls it.
  void remove(uint64_t number);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::weak_ptr<open_file>> all_;  // under mutex_
};

struct open_file {
  open_file() = default;
  ~open_file();
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  descriptor fd;
  int flags = 0;  ///< the flags of open()
  std::pair<dev_t, ino_t> identity;
  std::mutex position;  ///< held while a folder is listed, which moves the descriptor's position
  uint64_t number = 0;  ///< 0: clients can't share it
  std::shared_ptr<shared_files> among;
};

/// Registered memory of a session, to which a client on this host copies data of large writes. Owned by the session.
/// Pages are allocated at the first access only.
class staging_memory {
 public:
  staging_memory();
  ~staging_memory();
  staging_memory(const staging_memory&) = delete;
  staging_memory& operator=(const staging_memory&) = delete;

  lci::rmr_t remote() const;
  /// The address of a range; null if the range is not within the memory.
  const char* at(int64_t place, int64_t size) const;

 private:
  char* memory_ = nullptr;
  lci::mr_t region_;
};

/// The order of a session's staged writes, which is that of their requests, whichever threads execute them.
class write_order {
 public:
  /// A write's place in the order. The thread that receives requests creates it.
  class turn {
   public:
    explicit turn(write_order& all) : all_(all), number_(all.taken_++) {}
    ~turn();
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    /// Waits until the writes before have ended. This write ends with this object.
    void wait();

   private:
    write_order& all_;
    const uint64_t number_;
  };

 private:
  uint64_t taken_ = 0;  // the leader's
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t ended_ = 0;  // under mutex_
};

/// Thread-safe. A thread that executes a request keeps the file that it uses, also if the session ends meanwhile.
class session {
 public:
  explicit session(std::shared_ptr<shared_files> shared) : shared_(std::move(shared)) {}

  const std::shared_ptr<shared_files>& shared() const { return shared_; }
  /// Adds a file. Returns its handle, or 0 if the client has too many open files.
  uint64_t add(std::shared_ptr<open_file> file);
  std::shared_ptr<open_file> find(uint64_t handle) const;
  /// Removes a file and releases the client's locks on it, as close() releases those of a process. Returns false if
  /// there is no such handle.
  bool remove(uint64_t handle);
  /// Closes all files. Later calls of add() fail.
  void end();

  /// The descriptor that holds the client's locks on a file. As fcntl() locks belong to a process, these belong to the
  /// client and not to one of its handles. Returns null and sets `errno` if the descriptor can't be opened.
  std::shared_ptr<const descriptor> lock_holder(const open_file& file);

  /// Allocates the memory at the first call. Throws exceptions of register_memory().
  const staging_memory& staging();

  write_order writing;     ///< of staged writes
  uint32_t cut_group = 0;  ///< the last group with a short write; used in a turn of `writing`

 private:
  static constexpr size_t most_files = 65536;

  const std::shared_ptr<shared_files> shared_;
  mutable std::mutex mutex_;
  bool ended_ = false;  // under mutex_, as the members below
  uint64_t last_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<open_file>> files_;
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<const descriptor>> locks_;
  std::unique_ptr<staging_memory> staging_;
};

/// The sessions by the client's id. Thread-safe. An id may belong to successive connections.
class session_table {
 public:
  /// Begins a session; ends an earlier session with the same id, whose connection may have ended unnoticed. Returns a
  /// number, with which the caller reports the end of the connection to end_connection(). Returns 0, and begins none,
  /// if this id has begun too many.
  uint64_t begin(int client);
  /// The client's session, or null.
  std::shared_ptr<session> find(int client) const;
  /// Returns false if there was no session.
  bool end(int client);
  /// The same for the session with that number only: the id may belong to another client by now.
  bool end_connection(int client, uint64_t connection);
  std::vector<int> clients() const;
  size_t size() const;

 private:
  struct entry {
    std::shared_ptr<session> its;
    uint64_t connection = 0;
    int begun = 0;  // sessions since there was none with this id
  };
  /// Each session costs a receive until its connection ends. A client needs one.
  static constexpr int most_begun = 64;

  const std::shared_ptr<shared_files> shared_ = std::make_shared<shared_files>();
  mutable std::mutex mutex_;
  std::unordered_map<int, entry> all_;  // under mutex_
  uint64_t last_connection_ = 0;        // under mutex_
};

}  // namespace io_server
