// The checksum of messages: CRC-32C, since processors have an instruction for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mercury {

constexpr uint32_t check_start = ~uint32_t{0};
/// Continues the checksum `value` of earlier data with `data`; returns the checksum of all.
uint32_t message_check(uint32_t value, const void* data, size_t size);
/// The same without the processor's instruction. Declared here for tests.
uint32_t message_check_portable(uint32_t value, const void* data, size_t size);

#if defined(__x86_64__)
extern const bool has_check_instruction;

/// message_check() by the processor's instruction, for a size that the compiler knows.
template <size_t size>
__attribute__((target("sse4.2"))) inline uint32_t check_by_instruction(uint32_t value, const void* data) {
  constexpr size_t words = size / sizeof(uint64_t);
  static_assert(size % sizeof(uint64_t) == 0 || size % sizeof(uint64_t) == sizeof(uint32_t));
  const auto* p = static_cast<const unsigned char*>(data);
  uint64_t v = value;
  for (size_t i = 0; i < words; ++i, p += sizeof(uint64_t)) {
    uint64_t w;
    std::memcpy(&w, p, sizeof w);
    v = __builtin_ia32_crc32di(v, w);
  }
  auto result = static_cast<uint32_t>(v);
  if constexpr (size % sizeof(uint64_t) != 0) {
    uint32_t w;
    std::memcpy(&w, p, sizeof w);
    result = __builtin_ia32_crc32si(result, w);
  }
  return result;
}
#endif

/// message_check() for a size that the compiler knows, such as that of a header.
template <size_t size>
uint32_t message_check_of(uint32_t value, const void* data) {
#if defined(__x86_64__)
  if (has_check_instruction) return check_by_instruction<size>(value, data);
#endif
  return message_check_portable(value, data, size);
}

}  // namespace mercury
