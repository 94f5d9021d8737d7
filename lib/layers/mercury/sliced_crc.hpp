// A reflected cyclic redundancy check by tables, eight bytes at a time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mercury {

/// `Value` is an unsigned integer of the checksum's size. Immutable, so thread-safe.
template <class Value, Value polynomial>
class sliced_crc {
 public:
  /// Continues the checksum `value` of earlier data with more data; returns the checksum of all.
  static Value update(Value value, const void* data, size_t size) {
    auto* p = static_cast<const unsigned char*>(data);
    for (; size >= slices; p += slices, size -= slices) {
      uint64_t w;
      std::memcpy(&w, p, sizeof w);
      w ^= value;
      value = 0;
      for (int k = 0; k < slices; ++k) value ^= tables[slices - 1 - k][(w >> (8 * k)) & 0xFF];
    }
    for (; size > 0; ++p, --size) value = (value >> 8) ^ tables[0][(value ^ *p) & 0xFF];
    return value;
  }

 private:
  static_assert(std::endian::native == std::endian::little, "update() reads words in little-endian order");
  static constexpr int slices = 8;
  using table_list = std::array<std::array<Value, 256>, slices>;

  /// Entry [k][b] is the contribution of byte b if k more bytes follow it. So the eight look-ups for eight bytes do not
  /// depend on each other.
  static constexpr table_list make_tables() {
    table_list t{};
    for (unsigned b = 0; b < 256; ++b) {
      Value v = b;
      for (int bit = 0; bit < 8; ++bit) v = (v >> 1) ^ ((v & 1) != 0 ? polynomial : 0);
      t[0][b] = v;
    }
    for (int k = 1; k < slices; ++k)
      for (int b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xFF];
    return t;
  }

  static constexpr table_list tables = make_tables();
};

}  // namespace mercury
