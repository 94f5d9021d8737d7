// Makes a status whose words are stored whole.
#pragma once

#include <bit>
#include <cstdint>

#include "lci/types.hpp"

namespace lci::core {

/// A status built from whole words. Built field by field, its first two fields would be stored as halves of a word
/// that a copy of the status loads whole, and such a load stalls until both stores have retired.
inline status_t make_status(errorcode_t code, int rank, const void* buffer, size_t size, tag_t tag,
                            void* user_context) {
  struct words {
    uint64_t error_and_rank;
    const void* buffer;
    uint64_t size, tag;
    void* user_context;
  };
  static_assert(std::endian::native == std::endian::little && sizeof(words) == sizeof(status_t));
  return std::bit_cast<status_t>(words{static_cast<uint32_t>(code) | uint64_t{static_cast<uint32_t>(rank)} << 32,
                                       buffer, size, tag, user_context});
}

}  // namespace lci::core
