// The checksum of messages: CRC-32C, since processors have an instruction for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercury {

constexpr uint32_t check_start = ~uint32_t{0};
/// Continues the checksum `value` of earlier data with `data`; returns the checksum of all.
uint32_t message_check(uint32_t value, const void* data, size_t size);
/// The same without the processor's instruction. Declared here for tests.
uint32_t message_check_portable(uint32_t value, const void* data, size_t size);

}  // namespace mercury
