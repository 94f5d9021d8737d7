// An anonymous file of memory, and how a peer opens it through the owner's process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci::network::shm {

/// A mapping that ends with the object.
class mapping {
 public:
  mapping() = default;
  /// Throws resource_error, which names `attribute` as the remedy; fd remains the caller's.
  mapping(int fd, size_t size, const char* attribute);
  ~mapping();
  mapping(mapping&& other) noexcept { *this = static_cast<mapping&&>(other); }
  mapping& operator=(mapping&& other) noexcept;

  std::byte* base() const { return static_cast<std::byte*>(base_); }
  size_t size() const { return size_; }

 private:
  void* base_ = nullptr;
  size_t size_ = 0;
};

/// Tells peers which file it is.
struct file_name {
  int32_t fd = -1;
  uint64_t size = 0;
  uint64_t file_system = 0;  // these two name the file, whatever the descriptor's number means later
  uint64_t file = 0;
};

/// A memfd, so that nothing is left behind however the process ends. All zero at first, and sparse.
class memory_file {
 public:
  memory_file() = default;
  /// Throws resource_error, which names `attribute` as the remedy.
  memory_file(const char* name, size_t size, const char* attribute);
  ~memory_file() { close(); }
  memory_file(memory_file&& other) noexcept { *this = static_cast<memory_file&&>(other); }
  memory_file& operator=(memory_file&& other) noexcept;

  file_name name() const;
  mapping map() const;
  /// Gives whole pages back; they read as zero afterwards.
  void punch(size_t offset, size_t size) const;
  /// From now on nobody can open it any more.
  void close();

 private:
  int fd_ = -1;
  size_t size_ = 0;
  const char* attribute_ = "";
};

/// Opens the file that process `pid` has under that name; -1 with `errno`, which is ENOENT if the
/// process has closed it or has left.
int open_file_of(int pid, const file_name& name);

}  // namespace lci::network::shm
