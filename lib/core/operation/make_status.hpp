// Makes a status whose words are stored whole.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/types.hpp"

namespace lci::core {

/// A status built from whole words. Built field by field, its first two fields would be stored as halves of a word
/// that a copy of the status loads whole, and such a load stalls until both stores have retired.
inline status_t make_status(errorcode_t code, int rank, const void* buffer, size_t size, tag_t tag,
                            void* user_context) {
  static_assert(std::endian::native == std::endian::little && offsetof(status_t, error) == 0 &&
                offsetof(status_t, rank) == 4);
  const uint64_t error_and_rank = static_cast<uint32_t>(code) | uint64_t{static_cast<uint32_t>(rank)} << 32;
  status_t s;
  std::memcpy(static_cast<void*>(&s), &error_and_rank, sizeof error_and_rank);
  s.buffer = const_cast<void*>(buffer);
  s.size = size;
  s.tag = tag;
  s.user_context = user_context;
  return s;
}

}  // namespace lci::core
