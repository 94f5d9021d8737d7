#include "network/shm/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "lci/errors.hpp"
#include "network/common/errno_text.hpp"
#include "network/shm/limits.hpp"

namespace lci::network::shm {

namespace {

[[noreturn]] void refuse(const char* what, size_t size, int error, const char* attribute) {
  const std::string why = "shm: can't " + std::string(what) + " " + std::to_string(size) +
                          " bytes: " + std::strerror(error) + "; lower " + attribute;
  if (error == ENOMEM) throw shortage_error(why);
  throw resource_error(why);
}

}  // namespace

mapping::mapping(int fd, size_t size, const char* attribute, uint64_t wish) : size_(size) {
  void* p = mmap(reinterpret_cast<void*>(wish), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (p == MAP_FAILED) refuse("map shared memory of", size, errno, attribute);
  base_ = p;
}

mapping::~mapping() {
  if (base_ != nullptr) munmap(base_, size_);
}

mapping& mapping::operator=(mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  return *this;
}

memory_file::memory_file(const char* name, size_t size, const char* attribute)
    : fd_(memfd_create(name, MFD_CLOEXEC)), size_(size), attribute_(attribute) {
  if (fd_ < 0) {
    const int error = errno;
    throw resource_error("shm: memfd_create failed: " + errno_text(error) +
                         (error == ENOSYS ? "; the kernel must be Linux 3.17 or later" : ""));
  }
  if (size > largest_file()) {
    close();
    throw resource_error("shm: shared memory of " + std::to_string(size) +
                         " bytes is a larger file than `ulimit -f`, " + std::to_string(largest_file()) +
                         " bytes here, allows; raise it, or lower " + attribute);
  }
  if (ftruncate(fd_, static_cast<off_t>(size)) == 0) return;
  const int error = errno;
  close();
  refuse("make shared memory of", size, error, attribute);
}

memory_file& memory_file::operator=(memory_file&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(attribute_, other.attribute_);
  return *this;
}

file_name memory_file::name() const {
  struct stat s {};
  if (fstat(fd_, &s) != 0)
    throw resource_error("shm: fstat of own memory failed: " + std::string(std::strerror(errno)));
  return {fd_, 0, size_, s.st_dev, s.st_ino};
}

mapping memory_file::map(uint64_t wish) const { return mapping(fd_, size_, attribute_, wish); }

void memory_file::punch(size_t offset, size_t size) const {
  // If the kernel refuses, the pages just stay allocated.
  (void)!fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(size));
}

void memory_file::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

namespace {

bool is_named(const struct stat& s, const file_name& name) {
  return s.st_dev == name.file_system && s.st_ino == name.file && static_cast<uint64_t>(s.st_size) == name.size;
}

}  // namespace

int open_file_of(int pid, const file_name& name) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, name.fd);
  // The owner may have closed the file and reused the descriptor for another one, which must not be opened (that may
  // have side effects): so check before opening, and after it, as it may have changed in between.
  struct stat s {};
  if (stat(path, &s) != 0) return -1;
  if (is_named(s, name)) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &s) == 0 && is_named(s, name))) return fd;
    ::close(fd);
  }
  errno = ENOENT;
  return -1;
}

}  // namespace lci::network::shm
