#include "lib/layers/mercury/message_check.hpp"

#include <array>
#include <cstring>

namespace mercury {
namespace {

constexpr uint32_t polynomial = 0x82F63B78;  // reflected
constexpr int slices = 8;

/// Entry [k][b] is what byte b contributes when k more bytes follow it, as in crc.cpp.
constexpr std::array<std::array<uint32_t, 256>, slices> make_table() {
  std::array<std::array<uint32_t, 256>, slices> t{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t v = b;
    for (int bit = 0; bit < 8; ++bit) v = (v >> 1) ^ ((v & 1) != 0 ? polynomial : 0);
    t[0][b] = v;
  }
  for (int k = 1; k < slices; ++k)
    for (int b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xFF];
  return t;
}

constexpr auto table = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t check_by_instruction(uint32_t value, const void* data, size_t size) {
  auto* p = static_cast<const unsigned char*>(data);
  uint64_t v = value;
  for (; size >= sizeof(uint64_t); p += sizeof(uint64_t), size -= sizeof(uint64_t)) {
    uint64_t w;
    std::memcpy(&w, p, sizeof w);
    v = __builtin_ia32_crc32di(v, w);
  }
  auto rest = static_cast<uint32_t>(v);
  for (; size > 0; ++p, --size) rest = __builtin_ia32_crc32qi(rest, *p);
  return rest;
}

const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

uint32_t message_check_portable(uint32_t value, const void* data, size_t size) {
  auto* p = static_cast<const unsigned char*>(data);
  for (; size >= slices; p += slices, size -= slices) {
    uint64_t w;
    std::memcpy(&w, p, sizeof w);
    w ^= value;
    value = 0;
    for (int k = 0; k < slices; ++k) value ^= table[slices - 1 - k][(w >> (8 * k)) & 0xFF];
  }
  for (; size > 0; ++p, --size) value = (value >> 8) ^ table[0][(value ^ *p) & 0xFF];
  return value;
}

uint32_t message_check(uint32_t value, const void* data, size_t size) {
#if defined(__x86_64__)
  if (has_instruction) return check_by_instruction(value, data, size);
#endif
  return message_check_portable(value, data, size);
}

}  // namespace mercury
