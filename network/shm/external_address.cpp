#include "network/shm/external_address.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "network/shm/process.hpp"

namespace lci::network::shm {

std::string to_text(const external_address& a) {
  char text[240];
  std::snprintf(text, sizeof text,
                "shm://%016" PRIx64 "/%d.%" PRIx64 ".%d.%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%d.%" PRIx64 ".%" PRIx64
                ".%" PRIx64 ".%" PRIx64,
                a.where.space, a.where.pid, a.where.start_time, a.where.segment.fd, a.where.segment.size,
                a.where.segment.file_system, a.where.segment.file, a.connection_area.fd, a.connection_area.size,
                a.connection_area.file_system, a.connection_area.file, a.where.probe);
  return text;
}

external_address parse_address(const std::string& text) {
  external_address a;
  const int got =
      std::sscanf(text.c_str(),
                  "shm://%" SCNx64 "/%d.%" SCNx64 ".%d.%" SCNx64 ".%" SCNx64 ".%" SCNx64 ".%d.%" SCNx64 ".%" SCNx64
                  ".%" SCNx64 ".%" SCNx64,
                  &a.where.space, &a.where.pid, &a.where.start_time, &a.where.segment.fd, &a.where.segment.size,
                  &a.where.segment.file_system, &a.where.segment.file, &a.connection_area.fd, &a.connection_area.size,
                  &a.connection_area.file_system, &a.connection_area.file, &a.where.probe);
  // There is exactly one valid text for an address, so reject all others.
  if (got != 12 || a.where.pid <= 0 || to_text(a) != text)
    throw_invalid("connect", "address", '"' + text.substr(0, 240) + '"', "what get_address() gave, whole and unchanged",
                  "it begins with shm:// or tcp://");
  return a;
}

namespace {

std::string who_is_at(const external_address& a) {
  return "shm: the process of that address (pid " + std::to_string(a.where.pid) + ")";
}

/// Maps the file `name` of that process, if it belongs to our user.
mapping map_file(const external_address& a, const file_name& name) {
  const std::string who = who_is_at(a);
  // 0: that process could not read its own time.
  const int fd = (a.where.start_time == 0 || process_start_time(a.where.pid) == a.where.start_time)
                     ? open_file_of(a.where.pid, name)
                     : (errno = ENOENT, -1);
  if (fd < 0) {
    if (errno == ENOENT || errno == ESRCH) throw_gone(a);
    throw resource_error(who + " can't be reached: " + std::strerror(errno) + "; both processes must run as one user");
  }
  struct closing {
    int fd;
    ~closing() { close(fd); }
  } const at_end{fd};
  struct stat s {};
  if (fstat(fd, &s) != 0 || s.st_uid != geteuid())
    throw resource_error(who + " runs as another user; both processes must run as one");
  return mapping(fd, name.size, "LCI_ATTR_SHM_SEGMENT_SIZE of that process");
}

/// Reads the capacity of a connection area once. Empty if it is not a sound one.
std::optional<uint32_t> read_capacity(const mapping& m) {
  if (m.size() <= sizeof(connection_area_header)) return std::nullopt;
  connection_area_header& h = connection_area_view(m.base(), 0).header();
  const uint32_t capacity = read_once(h.capacity);
  if (read_once(h.magic) != connection_area_magic || capacity > max_ranks ||
      m.size() < connection_area_view::size_of(capacity))
    return std::nullopt;
  return capacity;
}

}  // namespace

void throw_gone(const external_address& a) {
  throw peer_failure_error(-1, who_is_at(a) + " has ended, or its runtime was freed; ask for its new address");
}

external_memory map_external(const external_address& a) {
  if (a.where.space != process_space())
    throw resource_error(
        "shm: the process of that address runs on another host, or in another "
        "process-id namespace of this one; shared memory doesn't reach it");
  // open_file_of() opens only a file of exactly this size, so the whole mapping is backed.
  if (a.connection_area.size < sizeof(connection_area_header) || a.where.segment.size < lanes_offset())
    throw resource_error("shm: that address does not refer to memory of LCI");
  mapping segment = map_file(a, a.where.segment), area = map_file(a, a.connection_area);
  const std::optional<lane_shape> shape = read_shape(segment);
  const std::optional<uint32_t> capacity = read_capacity(area);
  if (!shape || shape->n_slots < 32 || !capacity)
    throw resource_error("shm: that address does not refer to memory of this version of LCI");
  return {{std::move(segment), *shape}, std::move(area), *capacity};
}

}  // namespace lci::network::shm
