// Processors, strings, checksums and macros, without a network.
#include <mercury_checksum.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace {

MERCURY_GEN_PROC(point_t, ((int32_t)(x))((int32_t)(y)))
MERCURY_GEN_PROC(everything_t,
                 ((int8_t)(a))((uint8_t)(b))((int16_t)(c))((uint16_t)(d))((hg_int32_t)(e))((hg_uint32_t)(f))(
                     (int64_t)(g))((uint64_t)(h))((hg_bool_t)(i))((hg_ptr_t)(j))((hg_id_t)(k))((hg_string_t)(l))(
                     (hg_const_string_t)(m))((point_t)(n))((hg_string_t)(o)))
typedef struct {
  hg_uint64_t length;
  hg_string_object_t text;
} existing_t;
MERCURY_GEN_STRUCT_PROC(existing_t, ((hg_uint64_t)(length))((hg_string_object_t)(text)))

everything_t example() {
  return {-1,
          2,
          -300,
          40000,
          -5,
          6,
          -7'000'000'000,
          8'000'000'000'000,
          HG_TRUE,
          10,
          11,
          const_cast<char*>("twelve"),
          "thirteen",
          {14, -15},
          nullptr};
}

/// Owns a processor.
struct scoped_proc {
  scoped_proc(void* buf, size_t size, hg_proc_op_t op, hg_proc_hash_t hash = HG_NOHASH) {
    REQUIRE(hg_proc_create(buf, size, op, hash, &proc) == HG_SUCCESS);
  }
  ~scoped_proc() { hg_proc_free(proc); }
  hg_proc_t proc = HG_PROC_NULL;
};

template <class T>
std::vector<char> encoded(hg_return_t (*routine)(hg_proc_t, void*), T data, hg_proc_hash_t hash, size_t room) {
  std::vector<char> buffer(room);
  scoped_proc p(buffer.data(), room, HG_ENCODE, hash);
  REQUIRE(routine(p.proc, &data) == HG_SUCCESS);
  REQUIRE(hg_proc_flush(p.proc) == HG_SUCCESS);
  char* begin = buffer.data();
  if (hg_proc_get_extra_buf(p.proc) != nullptr) begin = static_cast<char*>(hg_proc_get_extra_buf(p.proc));
  return {begin, static_cast<char*>(hg_proc_get_buf_ptr(p.proc))};
}

hg_return_t decoded(std::vector<char> bytes, everything_t& result, hg_proc_hash_t hash) {
  result = {};
  // A buffer of exactly this size, so that a sanitizer detects reads beyond it.
  scoped_proc p(bytes.data() == nullptr ? &result : static_cast<void*>(bytes.data()), bytes.size(), HG_DECODE, hash);
  const hg_return_t got = hg_proc_everything_t(p.proc, &result);
  return got != HG_SUCCESS ? got : hg_proc_flush(p.proc);
}

void release(everything_t& e) {
  scoped_proc p(nullptr, 0, HG_FREE);
  REQUIRE(hg_proc_everything_t(p.proc, &e) == HG_SUCCESS);
  REQUIRE(e.l == nullptr);
  REQUIRE(e.m == nullptr);
}

}  // namespace

TEST_CASE("a structure of all types is decoded as it was encoded", "[proc]") {
  const hg_proc_hash_t hash = GENERATE(HG_NOHASH, HG_CRC16, HG_CRC64);
  const size_t room = GENERATE(0, 1, 16, 4096);
  everything_t e = example();
  const auto bytes = encoded(hg_proc_everything_t, e, hash, room);
  everything_t d;
  REQUIRE(decoded(bytes, d, hash) == HG_SUCCESS);
  CHECK((d.a == e.a && d.b == e.b && d.c == e.c && d.d == e.d && d.e == e.e && d.f == e.f && d.g == e.g));
  CHECK((d.h == e.h && d.i == e.i && d.j == e.j && d.k == e.k && d.n.x == 14 && d.n.y == -15));
  CHECK(std::string(d.l) == "twelve");
  CHECK(std::string(d.m) == "thirteen");
  CHECK(d.o == nullptr);
  release(d);
}

TEST_CASE("encoded integers are little-endian", "[proc]") {
  char buffer[8];
  scoped_proc p(buffer, sizeof buffer, HG_ENCODE);
  hg_uint32_t v = 0x01020304;
  REQUIRE(hg_proc_uint32_t(p.proc, &v) == HG_SUCCESS);
  CHECK(std::memcmp(buffer, "\x04\x03\x02\x01", 4) == 0);
  CHECK(hg_proc_get_size_left(p.proc) == 4);
  CHECK(hg_proc_get_buf_ptr(p.proc) == buffer + 4);
}

TEST_CASE("the checksum detects each changed byte of an encoded structure", "[proc]") {
  const hg_proc_hash_t hash = GENERATE(HG_CRC16, HG_CRC64);
  const auto bytes = encoded(hg_proc_everything_t, example(), hash, 4096);
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
      everything_t d;
      CHECK(decoded(changed, d, hash) != HG_SUCCESS);
      release(d);
    }
}

TEST_CASE("each truncation of an encoded structure is a size error", "[proc]") {
  const hg_proc_hash_t hash = GENERATE(HG_NOHASH, HG_CRC16, HG_CRC64);
  const auto bytes = encoded(hg_proc_everything_t, example(), hash, 4096);
  for (size_t n = 0; n < bytes.size(); ++n) {
    everything_t d;
    CHECK(decoded({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)}, d, hash) == HG_SIZE_ERROR);
    release(d);
  }
}

TEST_CASE("a string's length is checked against the bytes of the message", "[proc]") {
  const uint64_t length = GENERATE(uint64_t{2}, uint64_t{100}, 1ull << 40, ~0ull, ~0ull - 7);
  char buffer[16] = {};
  std::memcpy(buffer, &length, sizeof length);
  std::memset(buffer + 8, 'x', 8);  // also without a final 0
  scoped_proc p(buffer, sizeof buffer, HG_DECODE);
  hg_string_t s = nullptr;
  CHECK(hg_proc_hg_string_t(p.proc, &s) == (length == 2 ? HG_PROTOCOL_ERROR : HG_SIZE_ERROR));
  CHECK(s == nullptr);
}

TEST_CASE("an encoder whose buffer is full continues in an extra buffer", "[proc]") {
  char buffer[8];
  scoped_proc p(buffer, sizeof buffer, HG_ENCODE);
  std::string text(100000, 'x');
  auto* s = text.data();
  hg_uint32_t before = 7;
  REQUIRE(hg_proc_uint32_t(p.proc, &before) == HG_SUCCESS);
  CHECK(hg_proc_get_extra_buf(p.proc) == nullptr);
  REQUIRE(hg_proc_hg_string_t(p.proc, &s) == HG_SUCCESS);
  void* extra = hg_proc_get_extra_buf(p.proc);
  REQUIRE(extra != nullptr);
  CHECK(hg_proc_get_extra_size(p.proc) == hg_proc_get_size(p.proc));
  REQUIRE(hg_proc_set_extra_buf_is_mine(p.proc, HG_TRUE) == HG_SUCCESS);
  scoped_proc q(extra, hg_proc_get_extra_size(p.proc), HG_DECODE);
  hg_uint32_t number = 0;
  hg_string_t got = nullptr;
  REQUIRE(hg_proc_uint32_t(q.proc, &number) == HG_SUCCESS);
  REQUIRE(hg_proc_hg_string_t(q.proc, &got) == HG_SUCCESS);
  CHECK(number == 7);
  CHECK(got == text);
  free(got);
  hg_proc_buf_free(extra);
}

TEST_CASE("a routine may make room and write to the buffer directly", "[proc]") {
  char buffer[4];
  scoped_proc p(buffer, sizeof buffer, HG_ENCODE);
  char data[] = "12345678";
  REQUIRE(hg_proc_set_size(p.proc, 100) == HG_SUCCESS);
  CHECK(hg_proc_get_size(p.proc) == 100);
  void* at = hg_proc_buf_memcpy(hg_proc_get_buf_ptr(p.proc), data, sizeof data, hg_proc_get_op(p.proc));
  REQUIRE(hg_proc_set_buf_ptr(p.proc, at) == HG_SUCCESS);
  CHECK(hg_proc_get_size_left(p.proc) == 100 - sizeof data);
  CHECK(hg_proc_set_buf_ptr(p.proc, static_cast<char*>(at) + 1000) == HG_SIZE_ERROR);
  CHECK(std::memcmp(hg_proc_get_extra_buf(p.proc), data, sizeof data) == 0);
}

TEST_CASE("string objects are copied, swapped, encoded and decoded", "[strings]") {
  existing_t e{5, {}};
  REQUIRE(hg_string_object_init_const_char(&e.text, "hello", HG_FALSE) == HG_SUCCESS);
  hg_string_object_t copy;
  REQUIRE(hg_string_object_dup(e.text, &copy) == HG_SUCCESS);
  CHECK((copy.is_owned && std::string(copy.data) == "hello" && copy.data != e.text.data));
  REQUIRE(hg_string_object_free(&copy) == HG_SUCCESS);
  CHECK(copy.data == nullptr);
  auto bytes = encoded(hg_proc_existing_t, e, HG_CRC64, 256);
  scoped_proc p(bytes.data(), bytes.size(), HG_DECODE, HG_CRC64);
  existing_t d{};
  REQUIRE(hg_proc_existing_t(p.proc, &d) == HG_SUCCESS);
  REQUIRE(hg_proc_flush(p.proc) == HG_SUCCESS);
  CHECK((d.length == 5 && std::string(d.text.data) == "hello"));
  char* old = hg_string_object_swap(&d.text, strdup("other"));
  CHECK(std::string(old) == "hello");
  free(old);
  scoped_proc q(nullptr, 0, HG_FREE);
  REQUIRE(hg_proc_existing_t(q.proc, &d) == HG_SUCCESS);
}

TEST_CASE("checksums have their published values, however the data are divided", "[checksum]") {
  const char text[] = "123456789";
  hg_checksum_t c16, c64;
  REQUIRE(hg_checksum_init("crc16", &c16) == 0);
  REQUIRE(hg_checksum_init("crc64", &c64) == 0);
  CHECK(hg_checksum_get_size(c16) == 2);
  CHECK(hg_checksum_get_size(c64) == 8);
  CHECK(hg_checksum_get_size(nullptr) == 0);
  uint16_t v16 = 0;
  uint64_t whole = 0, parts = 0, zeros = 0;
  REQUIRE(hg_checksum_update(c16, text, 9) == 0);
  REQUIRE(hg_checksum_get(c16, &v16, sizeof v16, 1) == 0);
  CHECK(v16 == 0xD0DB);  // CRC-16/T10-DIF
  REQUIRE(hg_checksum_update(c64, text, 9) == 0);
  REQUIRE(hg_checksum_get(c64, &whole, sizeof whole, 1) == 0);
  REQUIRE(hg_checksum_reset(c64) == 0);
  REQUIRE(hg_checksum_update(c64, "\0\0\0\0\0\0\0\0\0", 9) == 0);
  REQUIRE(hg_checksum_get(c64, &zeros, sizeof zeros, 0) == 0);
  CHECK((whole ^ zeros) == 0xE9C6D914C4B8D9CA);  // the published value begins with 0 instead of all ones
  for (size_t cut = 0; cut <= 9; ++cut) {
    REQUIRE(hg_checksum_reset(c64) == 0);
    REQUIRE(hg_checksum_update(c64, text, cut) == 0);
    REQUIRE(hg_checksum_update(c64, text + cut, 9 - cut) == 0);
    REQUIRE(hg_checksum_get(c64, &parts, sizeof parts, 0) == 0);
    CHECK(parts == whole);
  }
  CHECK(hg_checksum_get(c64, &parts, 7, 0) < 0);
  CHECK(hg_checksum_destroy(c16) == 0);
  CHECK(hg_checksum_destroy(c64) == 0);
  CHECK(hg_checksum_init("md5", &c64) < 0);
  CHECK(hg_checksum_destroy(nullptr) < 0);
}

TEST_CASE("misuse of processors is an error", "[proc]") {
  hg_proc_t p = HG_PROC_NULL;
  char buffer[4];
  CHECK(hg_proc_create(buffer, 4, static_cast<hg_proc_op_t>(9), HG_NOHASH, &p) == HG_FAIL);
  CHECK(hg_proc_create(buffer, 4, HG_ENCODE, static_cast<hg_proc_hash_t>(9), &p) == HG_FAIL);
  CHECK(hg_proc_create(nullptr, 4, HG_DECODE, HG_NOHASH, &p) == HG_FAIL);
  CHECK(hg_proc_create(buffer, 4, HG_ENCODE, HG_NOHASH, nullptr) == HG_FAIL);
  CHECK(hg_proc_free(nullptr) == HG_FAIL);
  CHECK(hg_proc_flush(nullptr) == HG_FAIL);
}

TEST_CASE("routines of types refuse a NULL processor and NULL data", "[proc]") {
  const hg_proc_op_t op = GENERATE(HG_ENCODE, HG_DECODE, HG_FREE);
  char buffer[64] = {};
  const scoped_proc there(buffer, sizeof buffer, op);
  hg_uint64_t data = 0;
  hg_string_object_t object{};
  hg_string_t string = nullptr;
  hg_bulk_t bulk = HG_BULK_NULL;
  for (hg_proc_t p : {there.proc, HG_PROC_NULL}) {
    const bool is_there = p != HG_PROC_NULL;
    const auto refused = [&](auto routine, auto* value) { CHECK(routine(p, is_there ? nullptr : value) == HG_FAIL); };
    refused(hg_proc_hg_int8_t, reinterpret_cast<hg_int8_t*>(&data));
    refused(hg_proc_hg_uint8_t, reinterpret_cast<hg_uint8_t*>(&data));
    refused(hg_proc_hg_int16_t, reinterpret_cast<hg_int16_t*>(&data));
    refused(hg_proc_hg_uint16_t, reinterpret_cast<hg_uint16_t*>(&data));
    refused(hg_proc_hg_int32_t, reinterpret_cast<hg_int32_t*>(&data));
    refused(hg_proc_hg_uint32_t, reinterpret_cast<hg_uint32_t*>(&data));
    refused(hg_proc_hg_int64_t, reinterpret_cast<hg_int64_t*>(&data));
    refused(hg_proc_hg_uint64_t, &data);
    refused(hg_proc_hg_string_t, &string);
    refused(hg_proc_hg_const_string_t, const_cast<hg_const_string_t*>(&string));
    refused(hg_proc_hg_string_object_t, &object);
    refused(hg_proc_hg_bulk_t, &bulk);
    CHECK(hg_proc_memcpy(p, is_there ? nullptr : &data, sizeof data) == HG_FAIL);
    CHECK(hg_proc_raw(p, is_there ? nullptr : &data, sizeof data) == HG_FAIL);
    CHECK(hg_proc_raw(p, nullptr, 0) == (is_there ? HG_SUCCESS : HG_FAIL));
  }
  CHECK(hg_proc_get_size_left(there.proc) == sizeof buffer);  // nothing has been written or read
}

TEST_CASE("codes have the names of their constants", "[errors]") {
  CHECK(std::string(HG_Error_to_string(HG_FAIL)) == "HG_FAIL");
  CHECK(std::string(HG_Error_to_string(HG_CHECKSUM_ERROR)) == "HG_CHECKSUM_ERROR");
  unsigned major = 9, minor = 9, patch = 9;
  CHECK(HG_Version_get(&major, &minor, &patch) == HG_SUCCESS);
  CHECK((major == 0 && minor == 8 && patch == 2));
  CHECK(sizeof(hg_return_t) == sizeof(int));
  CHECK(HG_FAIL < 0);
}
