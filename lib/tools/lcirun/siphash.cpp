#include "lib/tools/lcirun/siphash.hpp"

#include <cstddef>

namespace lci::launcher {

namespace {

/// The little-endian integer of `count` bytes.
uint64_t load(const unsigned char* bytes, size_t count = 8) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

/// The four words of the algorithm; the paper calls them v0 to v3.
struct state {
  uint64_t a, b, c, d;
  void round() {
    a += b, b = rotate(b, 13), b ^= a, a = rotate(a, 32);
    c += d, d = rotate(d, 16), d ^= c;
    a += d, d = rotate(d, 21), d ^= a;
    c += b, b = rotate(b, 17), b ^= c, c = rotate(c, 32);
  }
  void take(uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  }
};

}  // namespace

uint64_t siphash(const secret_key& key, std::string_view data) {
  const uint64_t k0 = load(key.data()), k1 = load(key.data() + 8);
  state s{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  size_t left = data.size();
  for (; left >= 8; left -= 8, bytes += 8) s.take(load(bytes));
  s.take(uint64_t(data.size()) << 56 | load(bytes, left));
  s.c ^= 0xff;
  for (int i = 0; i < 4; ++i) s.round();
  return s.a ^ s.b ^ s.c ^ s.d;
}

}  // namespace lci::launcher
