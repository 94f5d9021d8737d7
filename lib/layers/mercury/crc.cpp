#include "lib/layers/mercury/crc.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace mercury {
namespace {

constexpr uint64_t polynomial64 = 0x95AC9329AC4BC9B5;
constexpr uint16_t polynomial16 = 0x8BB7;
constexpr int slices = 8;

/// Entry [k][b] is what byte b contributes when k more bytes follow it: eight bytes need eight independent look-ups
/// instead of a chain of eight.
constexpr std::array<std::array<uint64_t, 256>, slices> make_table64() {
  std::array<std::array<uint64_t, 256>, slices> t{};
  for (uint64_t b = 0; b < 256; ++b) {
    uint64_t v = b;
    for (int bit = 0; bit < 8; ++bit) v = (v >> 1) ^ (v & 1 ? polynomial64 : 0);
    t[0][b] = v;
  }
  for (int k = 1; k < slices; ++k)
    for (int b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xFF];
  return t;
}

constexpr std::array<uint16_t, 256> make_table16() {
  std::array<uint16_t, 256> t{};
  for (unsigned b = 0; b < 256; ++b) {
    unsigned v = b << 8;
    for (int bit = 0; bit < 8; ++bit) v = (v << 1) ^ (v & 0x8000 ? polynomial16 : 0);
    t[b] = static_cast<uint16_t>(v);
  }
  return t;
}

constexpr auto table64 = make_table64();
constexpr auto table16 = make_table16();
static_assert(std::endian::native == std::endian::little, "the words of crc64() are read in little-endian order");

}  // namespace

uint64_t crc64(uint64_t value, const void* data, size_t size) {
  auto* p = static_cast<const unsigned char*>(data);
  for (; size >= slices; p += slices, size -= slices) {
    uint64_t w;
    std::memcpy(&w, p, sizeof w);
    w ^= value;
    value = 0;
    for (int k = 0; k < slices; ++k) value ^= table64[slices - 1 - k][(w >> (8 * k)) & 0xFF];
  }
  for (; size > 0; ++p, --size) value = (value >> 8) ^ table64[0][(value ^ *p) & 0xFF];
  return value;
}

uint16_t crc16(uint16_t value, const void* data, size_t size) {
  auto* p = static_cast<const unsigned char*>(data);
  for (; size > 0; ++p, --size) value = static_cast<uint16_t>((value << 8) ^ table16[(value >> 8) ^ *p]);
  return value;
}

}  // namespace mercury
