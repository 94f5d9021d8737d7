#include "network/tcp/hello.hpp"

#include <cstring>

namespace lci::network::sockets {

namespace {

// The digit is the version of the wire format of connections.
constexpr char hello_magic[] = "LCIfab1?", reply_magic[] = "LCIfab1!";
constexpr size_t magic_size = sizeof hello_magic - 1;
static_assert(magic_size + sizeof(secret) + 8 == hello_size && hello_size == reply_size);

std::string pack(const char* kind, const secret& s, uint32_t number) {
  std::string bytes(kind, magic_size);
  bytes.append(reinterpret_cast<const char*>(s.data()), s.size());
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(uint64_t{number} >> shift);
  return bytes;
}

bool unpack(const std::string& bytes, const char* kind, secret& s, uint32_t& number) {
  if (bytes.size() != magic_size + s.size() + 8) return false;
  if (bytes.compare(0, magic_size, kind, magic_size) != 0) return false;
  std::memcpy(s.data(), bytes.data() + magic_size, s.size());
  uint64_t wide = 0;
  for (size_t i = 8; i-- > 0;) wide = wide << 8 | static_cast<unsigned char>(bytes[magic_size + s.size() + i]);
  number = static_cast<uint32_t>(wide);
  return wide >> 31 == 0;
}

}  // namespace

std::string encode(const hello& h) { return pack(hello_magic, h.request_secret, static_cast<uint32_t>(h.rank)); }
std::string encode(const reply& r) { return pack(reply_magic, r.answer, static_cast<uint32_t>(r.what)); }

bool decode(const std::string& bytes, hello& h) {
  uint32_t rank = 0;
  if (!unpack(bytes, hello_magic, h.request_secret, rank)) return false;
  h.rank = static_cast<int>(rank);
  return true;
}

bool decode(const std::string& bytes, reply& r) {
  uint32_t verdict = 0;
  if (!unpack(bytes, reply_magic, r.answer, verdict)) return false;
  r.what = static_cast<reply::verdict>(verdict);
  return r.what == reply::verdict::accepted || r.what == reply::verdict::crossed;
}

}  // namespace lci::network::sockets
