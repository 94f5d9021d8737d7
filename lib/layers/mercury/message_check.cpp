#include "lib/layers/mercury/message_check.hpp"

#include <cstring>

#include "lib/layers/mercury/sliced_crc.hpp"

namespace mercury {
namespace {

constexpr uint32_t polynomial = 0x82F63B78;  // reflected

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
  if (size >= sizeof(uint32_t)) {
    uint32_t w;
    std::memcpy(&w, p, sizeof w);
    rest = __builtin_ia32_crc32si(rest, w);
    p += sizeof w;
    size -= sizeof w;
  }
  for (; size > 0; ++p, --size) rest = __builtin_ia32_crc32qi(rest, *p);
  return rest;
}
#endif

}  // namespace

#if defined(__x86_64__)
const bool has_check_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

uint32_t message_check_portable(uint32_t value, const void* data, size_t size) {
  return sliced_crc<uint32_t, polynomial>::update(value, data, size);
}

uint32_t message_check(uint32_t value, const void* data, size_t size) {
#if defined(__x86_64__)
  if (has_check_instruction) return check_by_instruction(value, data, size);
#endif
  return message_check_portable(value, data, size);
}

}  // namespace mercury
