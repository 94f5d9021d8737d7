// The checksum of messages: CRC-32C, for which processors have an instruction.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercury {

constexpr uint32_t check_start = ~uint32_t{0};
/// Of `data`, following what `value` is the checksum of.
uint32_t message_check(uint32_t value, const void* data, size_t size);
/// The same without the instruction; for tests.
uint32_t message_check_portable(uint32_t value, const void* data, size_t size);

}  // namespace mercury
