#include "network/shm/segment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "lci/errors.hpp"
#include "network/shm/process.hpp"

namespace lci::network::shm {

namespace {

constexpr const char* segment_size_attribute = "LCI_ATTR_SHM_SEGMENT_SIZE";

}  // namespace

own_segment::own_segment(size_t size, size_t n_slots, size_t data_size) {
  const size_t stride = (sizeof(lane_header) + n_slots * slot_size + data_size + 4095) / 4096 * 4096;
  size = std::max(size, lanes_offset() + 16 * stride);
  file_ = memory_file("lci-shm", size, segment_size_attribute);
  map_ = file_.map();
  // A new file is all zero: rings are empty, devices absent, lanes free.
  segment_header& h = view().header();
  h.n_slots = static_cast<uint32_t>(n_slots);
  h.n_lanes = static_cast<uint32_t>((size - lanes_offset()) / stride);
  h.data_size = data_size;
  h.lane_stride = stride;
  h.magic = segment_magic;
}

mapping map_peer(const address& a, const file_name& name, int rank, const char* attribute, uint64_t wish) {
  const std::string who = "shm: rank " + std::to_string(rank) + " (pid " + std::to_string(a.pid) + ")";
  if (a.space != process_space())
    throw resource_error(who +
                         " runs on another host, or in another process-id namespace of this "
                         "one; shared memory doesn't reach it");
  const int fd = open_file_of(a.pid, name);
  if (fd < 0) {
    const int error = errno;
    if (error == EMFILE || error == ENFILE)
      throw shortage_error(who + ": can't open its memory: " + std::strerror(error) + "; raise `ulimit -n`");
    if (error == ENOENT || process_watch().has_ended(a.pid, a.start_time))
      throw peer_failure_error(rank, who + " has left before a connection was made");
    throw resource_error(who + ": can't open its memory, descriptor " + std::to_string(name.fd) + ": " +
                         std::strerror(error) + "; all ranks of a host must run as one user");
  }
  try {
    mapping m(fd, name.size, attribute, wish);
    close(fd);
    return m;
  } catch (...) {
    close(fd);
    throw;
  }
}

mapping map_segment(const address& a, int rank) {
  mapping m = map_peer(a, a.segment, rank, segment_size_attribute);
  if (segment_view(m.base()).header().magic != segment_magic)
    throw resource_error("shm: rank " + std::to_string(rank) + " (pid " + std::to_string(a.pid) +
                         "): its segment is of another version of LCI");
  return m;
}

void send_close(const address& a, int me) {
  const int fd = open_file_of(a.pid, a.segment);
  if (fd < 0) return;
  const uint8_t yes = 1;
  (void)!pwrite(fd, &yes, 1, static_cast<off_t>(close_flag_offset(me)));
  close(fd);
}

}  // namespace lci::network::shm
