// How the core makes a status that is passed on at once.
#pragma once

#include <bit>
#include <cstdint>

#include "lci/types.hpp"

namespace lci::core {

/// A status in whole words. Made field by field, its first two would be stored as halves of a word
/// that whoever copies the status loads in one piece: the processor waits for such stores.
inline status_t make_status(errorcode_t code, int rank, const void* buffer, size_t size, tag_t tag,
                            void* user_context) {
  struct words {
    uint64_t error_and_rank;
    const void* buffer;
    uint64_t size, tag;
    void* user_context;
  };
  static_assert(std::endian::native == std::endian::little && sizeof(words) == sizeof(status_t));
  return std::bit_cast<status_t>(
      words{static_cast<uint32_t>(code) | uint64_t{static_cast<uint32_t>(rank)} << 32, buffer, size,
            tag, user_context});
}

}  // namespace lci::core
