// Cyclic redundancy checks. Each function continues the checksum `value` of earlier data with more data, and returns
// the checksum of all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercury {

constexpr uint64_t crc64_start = ~uint64_t{0};
/// Reflected; the polynomial with its lowest power at the top is 0x95AC9329AC4BC9B5.
uint64_t crc64(uint64_t value, const void* data, size_t size);

constexpr uint16_t crc16_start = 0;
/// Not reflected; polynomial 0x8BB7 (CRC-16/T10-DIF, as in SCSI's data integrity field).
uint16_t crc16(uint16_t value, const void* data, size_t size);

}  // namespace mercury
