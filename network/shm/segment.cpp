#include "network/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "lci/errors.hpp"
#include "network/shm/process.hpp"

namespace lci::network::shm {

namespace {

std::string error_text() { return std::strerror(errno); }

}  // namespace

mapping::mapping(int fd, size_t size) : size_(size) {
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  const std::string why = error_text();
  if (p == MAP_FAILED)
    throw resource_error("shm: can't map a segment of " + std::to_string(size) + " bytes: " + why +
                         "; lower LCI_ATTR_SHM_SEGMENT_SIZE");
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

own_segment::own_segment(size_t size, size_t n_slots, size_t data_size) {
  const size_t stride =
      (sizeof(lane_header) + n_slots * sizeof(slot) + data_size + 4095) / 4096 * 4096;
  const size_t smallest = lanes_offset() + 16 * stride;
  if (size < smallest) size = smallest;
  fd_ = memfd_create("lci-shm", MFD_CLOEXEC);
  if (fd_ < 0)
    throw resource_error("shm: memfd_create failed: " + error_text() +
                         "; the kernel must be Linux 3.17 or later");
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    const std::string why = error_text();
    close(fd_);
    throw resource_error("shm: can't make a segment of " + std::to_string(size) + " bytes: " + why +
                         "; lower LCI_ATTR_SHM_SEGMENT_SIZE");
  }
  try {
    map_ = mapping(fd_, size);
  } catch (...) {
    close(fd_);
    throw;
  }
  // A new file is all zero: rings are empty, devices absent, lanes free.
  segment_header& h = view().header();
  h.n_slots = static_cast<uint32_t>(n_slots);
  h.n_lanes = static_cast<uint32_t>((size - lanes_offset()) / stride);
  h.data_size = data_size;
  h.lane_stride = stride;
  h.magic = segment_magic;
}

void own_segment::describe(address& a) const {
  struct stat s {};
  fstat(fd_, &s);
  a.fd = fd_;
  a.size = map_.size();
  a.file_system = s.st_dev;
  a.file = s.st_ino;
}

void own_segment::close_file() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

namespace {

bool is_segment(const struct stat& s, const address& a) {
  return s.st_dev == a.file_system && s.st_ino == a.file &&
         static_cast<uint64_t>(s.st_size) == a.size;
}

/// The peer's segment as a file; -1 with `errno`, which is ENOENT if the peer has left.
int open_segment(const address& a) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", a.pid, a.fd);
  // The peer may have closed it and got the number for something else, which must not be touched;
  // before it is opened (that may have effects) and afterwards (it may have changed in between).
  struct stat s {};
  if (stat(path, &s) != 0) return -1;
  int fd = -1;
  if (is_segment(s, a)) {
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &s) == 0 && is_segment(s, a))) return fd;
    close(fd);
  }
  errno = ENOENT;
  return -1;
}

}  // namespace

mapping map_peer(const address& a, int rank) {
  const std::string who =
      "shm: rank " + std::to_string(rank) + " (pid " + std::to_string(a.pid) + ")";
  if (a.space != process_space())
    throw resource_error(who + " runs on another host, or in another process-id namespace of this "
                               "one; shared memory doesn't reach it");
  const int fd = open_segment(a);
  if (fd < 0) {
    const int error = errno;
    if (error == ENOENT || process_watch().has_ended(a.pid, a.start_time))
      throw peer_failure_error(rank, who + " has left before a connection was made");
    throw resource_error(who + ": can't open its segment, descriptor " + std::to_string(a.fd) +
                         ": " + std::strerror(error) +
                         "; all ranks of a host must run as one user");
  }
  mapping m;
  try {
    m = mapping(fd, a.size);
  } catch (...) {
    close(fd);
    throw;
  }
  close(fd);
  if (m.view().header().magic != segment_magic)
    throw resource_error(who + ": its segment is of another version of LCI");
  return m;
}

void say_goodbye(const address& a, int me) {
  const int fd = open_segment(a);
  if (fd < 0) return;
  const uint8_t yes = 1;
  (void)!pwrite(fd, &yes, 1, static_cast<off_t>(goodbye_offset(me)));
  close(fd);
}

}  // namespace lci::network::shm
