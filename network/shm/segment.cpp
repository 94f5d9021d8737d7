#include "network/shm/segment.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

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
  shape_ = {static_cast<uint32_t>(n_slots), static_cast<uint32_t>((size - lanes_offset()) / stride), data_size, stride};
  segment_header& h = view().header();
  h.n_slots = shape_.n_slots;
  h.n_lanes = shape_.n_lanes;
  h.data_size = shape_.data_size;
  h.lane_stride = shape_.stride;
  h.magic = segment_magic;
}

std::optional<lane_shape> read_shape(const mapping& segment) {
  if (segment.size() <= lanes_offset()) return std::nullopt;
  segment_header& h = segment_view(segment.base(), {}).header();
  const lane_shape s{read_once(h.n_slots), read_once(h.n_lanes), read_once(h.data_size), read_once(h.lane_stride)};
  const bool sound = read_once(h.magic) == segment_magic && std::has_single_bit(s.n_slots) && s.n_slots >= 16 &&
                     s.n_slots <= 1u << 21 && std::has_single_bit(s.data_size) && s.data_size <= 1u << 30 &&
                     s.stride >= sizeof(lane_header) + s.n_slots * slot_size + s.data_size &&
                     s.stride <= uint64_t{1} << 32 && s.stride % 4096 == 0 &&
                     s.n_lanes <= (segment.size() - lanes_offset()) / s.stride;
  if (!sound) return std::nullopt;
  return s;
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

peer_segment map_segment(const address& a, int rank) {
  mapping m = map_peer(a, a.segment, rank, segment_size_attribute);
  const std::optional<lane_shape> shape = read_shape(m);
  if (!shape)
    throw resource_error("shm: rank " + std::to_string(rank) + " (pid " + std::to_string(a.pid) +
                         "): its segment is of another version of LCI");
  return {std::move(m), *shape};
}

void send_close(const address& a, int me) {
  const int fd = open_file_of(a.pid, a.segment);
  if (fd < 0) return;
  const uint8_t yes = 1;
  (void)!pwrite(fd, &yes, 1, static_cast<off_t>(close_flag_offset(me)));
  close(fd);
}

}  // namespace lci::network::shm
