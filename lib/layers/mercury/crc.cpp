#include "lib/layers/mercury/crc.hpp"

#include <array>

#include "lib/layers/mercury/sliced_crc.hpp"

namespace mercury {
namespace {

constexpr uint64_t polynomial64 = 0x95AC9329AC4BC9B5;
constexpr uint16_t polynomial16 = 0x8BB7;

constexpr std::array<uint16_t, 256> make_table16() {
  std::array<uint16_t, 256> t{};
  for (unsigned b = 0; b < 256; ++b) {
    unsigned v = b << 8;
    for (int bit = 0; bit < 8; ++bit) v = (v << 1) ^ (v & 0x8000 ? polynomial16 : 0);
    t[b] = static_cast<uint16_t>(v);
  }
  return t;
}

constexpr auto table16 = make_table16();

}  // namespace

uint64_t crc64(uint64_t value, const void* data, size_t size) {
  return sliced_crc<uint64_t, polynomial64>::update(value, data, size);
}

uint16_t crc16(uint16_t value, const void* data, size_t size) {
  auto* p = static_cast<const unsigned char*>(data);
  for (; size > 0; ++p, --size) value = static_cast<uint16_t>((value << 8) ^ table16[(value >> 8) ^ *p]);
  return value;
}

}  // namespace mercury
