// The serialized form of bulk handles, and copies between lists of segments. For HG and for lci/rpc.hpp.
#pragma once

#include <mercury_types.h>
#include <na.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lib/layers/na/direct.hpp"

namespace mercury {

constexpr uint32_t bulk_magic = 0x6B624748;  // "HGbk"
constexpr uint32_t bulk_is_range = 2;        // a flag, in addition to HG_BULK_READ_ONLY

/// The header of a serialized handle. NA's serialized memory handle follows. A handle of a range of the memory has the
/// range's offset (uint64_t) between the two. HG creates no ranges, but accepts those of lci/rpc.hpp.
struct bulk_header {
  uint32_t magic = bulk_magic;
  uint32_t flags = 0;
  uint64_t size = 0;
  uint64_t segments = 0;
  uint64_t process = 0;  // a random number of the owner's process
  uint64_t id = 0;       // the owner's number of the handle
};

/// A serialized handle that has been read.
struct bulk_message {
  bulk_header head;
  bool is_range = false;
  bool is_read_only = false;
  uint64_t base = 0;             // offset of the range
  const char* memory = nullptr;  // NA's serialized handle
  size_t memory_size = 0;
};

/// Reads a serialized handle, which `m` then refers to. HG_SIZE_ERROR if bytes are missing, HG_PROTOCOL_ERROR if they
/// are not of a handle. Does not read NA's part.
inline hg_return_t read_bulk(const void* bytes, size_t size, bulk_message& m) {
  if (size < sizeof m.head) return HG_SIZE_ERROR;
  std::memcpy(&m.head, bytes, sizeof m.head);
  constexpr uint32_t flags = NA_MEM_READ_ONLY | bulk_is_range;
  if (m.head.magic != bulk_magic || (m.head.flags & ~flags) != 0 || m.head.segments == 0) return HG_PROTOCOL_ERROR;
  m.is_range = (m.head.flags & bulk_is_range) != 0;
  m.is_read_only = (m.head.flags & NA_MEM_READ_ONLY) != 0;
  const size_t begin = sizeof m.head + (m.is_range ? sizeof m.base : 0);
  if (size < begin) return HG_SIZE_ERROR;
  if (m.is_range) std::memcpy(&m.base, static_cast<const char*>(bytes) + sizeof m.head, sizeof m.base);
  if (m.head.size > UINT64_MAX - m.base) return HG_PROTOCOL_ERROR;
  m.memory = static_cast<const char*>(bytes) + begin;
  m.memory_size = size - begin;
  return HG_SUCCESS;
}

/// Returns whether the range lies within the memory of NA's handle, and both may be accessed in the same way.
inline bool describes(na_mem_handle_t memory, const bulk_message& m) {
  na_size_t size = 0;
  unsigned long flags = 0;
  NA_Direct_memory(memory, &size, &flags);
  return (flags == NA_MEM_READ_ONLY) == m.is_read_only && m.base + m.head.size <= size;
}

/// The number of bytes of segments.
inline uint64_t size_of(const std::vector<na_segment>& segments) {
  uint64_t n = 0;
  for (const na_segment& s : segments) n += s.size;
  return n;
}

/// Calls f(address, size) for each piece of a range of segments, until it returns false.
template <class F>
void for_pieces(const std::vector<na_segment>& segments, uint64_t offset, uint64_t size, F&& f) {
  for (const na_segment& s : segments) {
    if (size == 0) return;
    if (offset >= s.size) {
      offset -= s.size;
      continue;
    }
    const uint64_t n = std::min<uint64_t>(s.size - offset, size);
    if (!f(reinterpret_cast<char*>(s.address) + offset, n)) return;
    offset = 0;
    size -= n;
  }
}

/// Copies between ranges of segments of this process. The ranges may overlap.
inline void copy_pieces(const std::vector<na_segment>& to, uint64_t to_offset, const std::vector<na_segment>& from,
                        uint64_t from_offset, uint64_t size) {
  for_pieces(from, from_offset, size, [&](const char* source, uint64_t bytes) {
    for_pieces(to, to_offset, bytes, [&](char* target, uint64_t n) {
      std::memmove(target, source, n);
      source += n;
      return true;
    });
    to_offset += bytes;
    return true;
  });
}

}  // namespace mercury
