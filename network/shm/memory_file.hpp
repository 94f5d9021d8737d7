// An anonymous memory file, and how a peer opens it through the owner's process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lci/errors.hpp"

namespace lci::network::shm {

/// Thrown if the system can't map memory for lack of a resource. A later attempt may succeed.
class shortage_error final : public resource_error {
 public:
  using resource_error::resource_error;
};

/// Owns a mapping.
class mapping {
 public:
  mapping() = default;
  /// Throws shortage_error, or another resource_error; the message names `attribute` as the remedy. The caller still
  /// owns fd. `wish`: where to map it, if that is free.
  mapping(int fd, size_t size, const char* attribute, uint64_t wish = 0);
  ~mapping();
  mapping(mapping&& other) noexcept { *this = static_cast<mapping&&>(other); }
  mapping& operator=(mapping&& other) noexcept;

  std::byte* base() const { return static_cast<std::byte*>(base_); }
  size_t size() const { return size_; }

 private:
  void* base_ = nullptr;
  size_t size_ = 0;
};

/// Identifies a file for peers. Without padding, since peers get its bytes, and padding is never set.
struct file_name {
  int32_t fd = -1;
  uint32_t unused = 0;
  uint64_t size = 0;
  uint64_t file_system = 0;  // these two identify the file even if the descriptor is reused
  uint64_t file = 0;
};

/// A memfd, so that nothing remains after the process, however it ends. Initially zero and sparse.
class memory_file {
 public:
  memory_file() = default;
  /// Throws resource_error; the message names `attribute` as the remedy.
  memory_file(const char* name, size_t size, const char* attribute);
  ~memory_file() { close(); }
  memory_file(memory_file&& other) noexcept { *this = static_cast<memory_file&&>(other); }
  memory_file& operator=(memory_file&& other) noexcept;

  file_name name() const;
  size_t size() const { return size_; }
  mapping map(uint64_t wish = 0) const;
  /// Returns whole pages to the system; they read as zero afterwards.
  void punch(size_t offset, size_t size) const;
  /// After this no process can open it any more.
  void close();

 private:
  int fd_ = -1;
  size_t size_ = 0;
  const char* attribute_ = "";
};

/// Opens the file that process `pid` has under that name; -1 with `errno`, which is ENOENT if the process has closed it
/// or has ended.
int open_file_of(int pid, const file_name& name);

}  // namespace lci::network::shm
