// The functions of mercury_checksum.h.
#include <mercury_checksum.h>

#include <cstring>
#include <new>

#include "lib/layers/mercury/crc.hpp"
#include "lib/layers/mercury/misuse.hpp"

namespace {

using namespace mercury;

/// A checksum of the data so far: the implementation of hg_checksum_t. Owned by the program. One thread at a time may
/// use it.
class checksum : public object<0x6d756373> {
 public:
  explicit checksum(bool is_64) : is_64_(is_64) { reset(); }
  void reset() { value_ = is_64_ ? crc64_start : crc16_start; }
  size_t size() const { return is_64_ ? sizeof(uint64_t) : sizeof(uint16_t); }
  void update(const void* data, size_t n) {
    value_ = is_64_ ? crc64(value_, data, n) : crc16(static_cast<uint16_t>(value_), data, n);
  }
  // The first size() bytes of the little-endian 64-bit value are the checksum.
  void copy_to(void* buf) const { std::memcpy(buf, &value_, size()); }

 private:
  const bool is_64_;
  uint64_t value_ = 0;
};

constexpr const char* a_checksum = "a checksum";

}  // namespace

int hg_checksum_init(const char* hash_method, hg_checksum_t* result) {
  if (hash_method == nullptr || result == nullptr)
    return fail(HG_FAIL, __func__, "%s is NULL, but must not be", hash_method == nullptr ? "hash_method" : "checksum");
  const bool is_64 = std::strcmp(hash_method, "crc64") == 0;
  if (!is_64 && std::strcmp(hash_method, "crc16") != 0)
    return fail(HG_FAIL, __func__, "there is no method \"%s\": take \"crc16\" or \"crc64\"", hash_method);
  checksum* made = new (std::nothrow) checksum(is_64);
  if (made == nullptr) return fail(HG_FAIL, __func__, "no memory is left");
  *result = made;
  return 0;
}

int hg_checksum_destroy(hg_checksum_t c) {
  checksum* found = get<checksum>(__func__, a_checksum, c);
  delete found;
  return found != nullptr ? 0 : -1;
}

int hg_checksum_reset(hg_checksum_t c) {
  checksum* found = get<checksum>(__func__, a_checksum, c);
  if (found == nullptr) return -1;
  found->reset();
  return 0;
}

size_t hg_checksum_get_size(hg_checksum_t c) {
  if (c == nullptr) return 0;
  const checksum* found = get<checksum>(__func__, a_checksum, c);
  return found != nullptr ? found->size() : 0;
}

int hg_checksum_get(hg_checksum_t c, void* buf, size_t size, int) {
  const checksum* found = get<checksum>(__func__, a_checksum, c);
  if (found == nullptr) return -1;
  if (buf == nullptr || size < found->size())
    return fail(HG_FAIL, __func__, "the buffer must have %zu bytes, but has %zu", found->size(), buf ? size : 0);
  found->copy_to(buf);
  return 0;
}

int hg_checksum_update(hg_checksum_t c, const void* data, size_t size) {
  checksum* found = get<checksum>(__func__, a_checksum, c);
  if (found == nullptr) return -1;
  if (data == nullptr && size > 0) return fail(HG_FAIL, __func__, "data is NULL, but has %zu bytes", size);
  found->update(data, size);
  return 0;
}
