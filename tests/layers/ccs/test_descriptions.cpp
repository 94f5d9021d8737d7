// Data descriptions in one process: sizes, bounds, packing and unpacking.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/layers/ccs/job.hpp"
#include "tests/layers/ccs/random_description.hpp"

using namespace ccs_test;

namespace {

constexpr intptr_t middle = 1 << 20;  // of the memory that random descriptions lie in

std::vector<unsigned char> noise(size_t n) {
  std::vector<unsigned char> v(n);
  uint32_t x = 12345;
  for (auto& b : v) b = static_cast<unsigned char>((x = x * 1664525 + 1013904223) >> 24);
  return v;
}

/// Builds a struct description from the given fields, as a program would for a C struct.
CCS_datadesc_t struct_of(std::vector<int> blocks, std::vector<CCS_aint_t> at, std::vector<CCS_datadesc_t> descs) {
  CCS_datadesc_t d = CCS_DATA_NULL;
  REQUIRE(CCS_datadesc_create_struct(static_cast<int>(blocks.size()), blocks.data(), at.data(), descs.data(), &d) ==
          CCS_SUCCESS);
  return d;
}

}  // namespace

TEST_CASE("packing and unpacking random descriptions moves the bytes of the model", "[descriptions]") {
  std::vector<unsigned char> memory = noise(2 * middle);
  for (int seed = 0; seed < 3000 * lci_test::long_runs(); ++seed) {
    generator make(static_cast<uint64_t>(seed), seed % 2 == 0);
    const described d = make.any(make.number(0, 4), 400);
    const auto count = static_cast<size_t>(make.number(0, 3));
    REQUIRE(!make.failed);
    const std::vector<intptr_t> at = places(d.is, count);
    INFO("seed " << seed << ", " << at.size() << " bytes");
    REQUIRE(CCS_datadesc_size(d.desc) == static_cast<CCS_aint_t>(d.is.bytes.size()));
    REQUIRE(CCS_datadesc_extent(d.desc) == d.is.extent());
    std::vector<unsigned char> packed(at.size() + 1, 0xaa), expected;
    for (const intptr_t a : at) expected.push_back(memory[static_cast<size_t>(middle + a)]);
    expected.push_back(0xaa);
    REQUIRE(CCS_pack(packed.data(), memory.data() + middle, static_cast<int>(count), d.desc, at.size()) == CCS_SUCCESS);
    REQUIRE(packed == expected);
    if (seed % 2 != 0) continue;  // not disjoint, so unpacking is not deterministic
    std::vector<unsigned char> target(2 * 65536, 0x55), wanted = target;
    constexpr intptr_t centre = 65536;
    bool fits = true;
    for (size_t i = 0; i < at.size(); ++i) {
      fits = fits && at[i] > -centre && at[i] < centre;
      if (fits) wanted[static_cast<size_t>(centre + at[i])] = packed[i];
    }
    if (!fits) continue;
    REQUIRE(CCS_unpack(target.data() + centre, packed.data(), static_cast<int>(count), d.desc, at.size()) ==
            CCS_SUCCESS);
    REQUIRE(target == wanted);
  }
}

TEST_CASE("a struct is padded as a compiler pads it, unless markers bound it", "[descriptions]") {
  struct record {
    char c;
    double d;
    short s;
  };
  CCS_datadesc_t d = struct_of({1, 1, 1}, {offsetof(record, c), offsetof(record, d), offsetof(record, s)},
                               {CCS_DATA8, CCS_DATA64, CCS_DATA16});
  CHECK(CCS_datadesc_extent(d) == sizeof(record));
  CHECK(CCS_datadesc_size(d) == 11);
  CCS_datadesc_t bounded = struct_of({1, 1, 1}, {-4, 0, 60}, {CCS_DATA_LB, d, CCS_DATA_UB});
  CHECK(CCS_datadesc_extent(bounded) == 64);
  CCS_datadesc_t inherited = CCS_DATA_NULL;  // markers are sticky
  REQUIRE(CCS_datadesc_create_contiguous(3, bounded, &inherited) == CCS_SUCCESS);
  CHECK(CCS_datadesc_extent(inherited) == 192);
  CHECK(CCS_datadesc_size(inherited) == 33);
  CCS_datadesc_free(&d);
  CHECK(d == CCS_DATA_NULL);
  CCS_datadesc_free(&bounded);
  CHECK(CCS_datadesc_extent(inherited) == 192);  // keeps what it was made of
  CCS_datadesc_free(&inherited);
}

TEST_CASE("builtin descriptions have their sizes, and freeing them has no effect", "[descriptions]") {
  const CCS_datadesc_t all[] = {CCS_DATA8, CCS_DATA16, CCS_DATA32, CCS_DATA64, CCS_DATA128};
  CCS_aint_t size = 1;
  for (CCS_datadesc_t d : all) {
    CHECK(CCS_datadesc_is_builtin(d));
    CHECK(CCS_datadesc_size(d) == size);
    CHECK(CCS_datadesc_extent(d) == size);
    const CCS_datadesc_t before = d;
    CCS_datadesc_free(&d);
    CHECK(d == before);
    size *= 2;
  }
  CHECK(CCS_datadesc_size(CCS_DATA_NULL) == 0);
  CHECK(CCS_datadesc_extent(CCS_DATA_NULL) == 0);
  CHECK(CCS_datadesc_size(CCS_DATA_PACKED) == 1);
}

TEST_CASE("handles of freed descriptions, and numbers that are no handles, are refused", "[descriptions]") {
  char bytes[64] = {};
  const auto is_refused = [&](CCS_datadesc_t d) {
    CCS_datadesc_t made = CCS_DATA_NULL, given = d;
    int one = 1;
    CCS_aint_t at = 0;
    CHECK(CCS_datadesc_size(d) == 0);
    CHECK(CCS_datadesc_extent(d) == 0);
    CHECK(CCS_pack(bytes, bytes, 1, d, 8) == CCS_FAILURE);
    CHECK(CCS_unpack(bytes, bytes, 1, d, 8) == CCS_FAILURE);
    CHECK(CCS_datadesc_create_contiguous(1, d, &made) == CCS_FAILURE);
    CHECK(CCS_datadesc_create_vector(1, 1, 1, d, &made) == CCS_FAILURE);
    CHECK(CCS_datadesc_create_indexed(1, &one, &at, d, &made) == CCS_FAILURE);
    CHECK(CCS_datadesc_create_blockindexed(1, 1, &at, d, &made) == CCS_FAILURE);
    CHECK(CCS_datadesc_create_struct(1, &one, &at, &given, &made) == CCS_FAILURE);
    CHECK(made == CCS_DATA_NULL);
    CCS_datadesc_free(&given);
    CHECK(given == d);
  };
  CCS_datadesc_t first = CCS_DATA_NULL, second = CCS_DATA_NULL;
  REQUIRE(CCS_datadesc_create_vector(2, 1, 8, CCS_DATA32, &first) == CCS_SUCCESS);
  const CCS_datadesc_t stale = first;
  CCS_datadesc_free(&first);
  is_refused(stale);
  // A new description takes the freed one's place, but not its handle.
  REQUIRE(CCS_datadesc_create_vector(3, 1, 8, CCS_DATA32, &second) == CCS_SUCCESS);
  is_refused(stale);
  CHECK(CCS_datadesc_size(second) == 12);
  CHECK_FALSE(CCS_datadesc_is_builtin(second));
  void* const unmapped = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(unmapped != MAP_FAILED);
  const auto number = [](const void* p) { return reinterpret_cast<CCS_datadesc_t>(p); };
  for (const CCS_datadesc_t wrong :
       {number(unmapped), number(bytes), number(&second), second + 1, second - 1, second | CCS_datadesc_t{1} << 62,
        CCS_DATA_PACKED + 1, CCS_datadesc_t{3}, CCS_datadesc_t{-8}, INTPTR_MIN, INTPTR_MAX})
    is_refused(wrong);
  munmap(unmapped, 4096);
  CCS_datadesc_free(&second);
}

TEST_CASE("counts and lengths of zero are legal everywhere", "[descriptions]") {
  CCS_datadesc_t d[7];
  int zero = 0;
  CCS_aint_t at = 100;
  CCS_datadesc_t byte = CCS_DATA8;
  const size_t length = 0;
  CHECK(CCS_datadesc_create_contiguous(0, CCS_DATA64, &d[0]) == CCS_SUCCESS);
  CHECK(CCS_datadesc_create_vector(0, 3, 16, CCS_DATA64, &d[1]) == CCS_SUCCESS);
  CHECK(CCS_datadesc_create_vector(3, 0, 16, CCS_DATA64, &d[2]) == CCS_SUCCESS);
  CHECK(CCS_datadesc_create_struct(1, &zero, &at, &byte, &d[3]) == CCS_SUCCESS);
  CHECK(CCS_datadesc_create_indexed(0, nullptr, nullptr, CCS_DATA64, &d[4]) == CCS_SUCCESS);
  CHECK(CCS_datadesc_create_blockindexed(1, 0, &at, CCS_DATA64, &d[5]) == CCS_SUCCESS);
  CHECK(CCS_datadesc_create_iov(1, &at, &length, &d[6]) == CCS_SUCCESS);
  for (CCS_datadesc_t& each : d) {
    CHECK(CCS_datadesc_size(each) == 0);
    CHECK(CCS_datadesc_extent(each) == 0);
    CCS_datadesc_t nested = CCS_DATA_NULL;
    CHECK(CCS_datadesc_create_vector(2, 2, 8, each, &nested) == CCS_SUCCESS);
    CHECK(CCS_datadesc_size(nested) == 0);
    CHECK(CCS_pack(nullptr, nullptr, 5, nested, 0) == CCS_SUCCESS);
    CCS_datadesc_free(&nested);
    CCS_datadesc_free(&each);
  }
}

TEST_CASE("a constructor may store its result over one of its arguments, and stores nothing when it fails",
          "[descriptions]") {
  CCS_datadesc_t parts[2] = {CCS_DATA32, CCS_DATA8};
  int lengths[2] = {1, -1};
  CCS_aint_t at[2] = {0, 8};
  CHECK(CCS_datadesc_create_struct(2, lengths, at, parts, &parts[0]) == CCS_FAILURE);
  CHECK(parts[0] == CCS_DATA32);
  CHECK(CCS_datadesc_create_contiguous(-1, CCS_DATA8, &parts[0]) == CCS_FAILURE);
  CHECK(parts[0] == CCS_DATA32);
  lengths[1] = 3;
  REQUIRE(CCS_datadesc_create_struct(2, lengths, at, parts, &parts[0]) == CCS_SUCCESS);
  CHECK(CCS_datadesc_size(parts[0]) == 7);
  CHECK(CCS_datadesc_extent(parts[0]) == 12);
  CCS_datadesc_free(&parts[0]);
}

TEST_CASE("a description nested a thousand times describes the same bytes", "[descriptions]") {
  CCS_datadesc_t d = CCS_DATA16;
  for (int i = 0; i < 1000; ++i) {
    CCS_datadesc_t outer = CCS_DATA_NULL;
    if (i % 2 == 0) {
      REQUIRE(CCS_datadesc_create_vector(1, 1, 64, d, &outer) == CCS_SUCCESS);
    } else {
      outer = struct_of({1, 1}, {0, 100 + 3 * i}, {d, CCS_DATA8});
    }
    CCS_datadesc_free(&d);
    d = outer;
  }
  REQUIRE(CCS_datadesc_size(d) == 502);
  const std::vector<unsigned char> memory = noise(8192);
  std::vector<unsigned char> packed(502), expected{memory[0], memory[1]};
  for (int i = 1; i < 1000; i += 2) expected.push_back(memory[static_cast<size_t>(100 + 3 * i)]);
  REQUIRE(CCS_pack(packed.data(), const_cast<unsigned char*>(memory.data()), 1, d, 502) == CCS_SUCCESS);
  CHECK(packed == expected);
  CCS_datadesc_free(&d);
}

TEST_CASE("descriptions of more than 4 GiB are exact", "[descriptions]") {
  CCS_datadesc_t row = CCS_DATA_NULL, matrix = CCS_DATA_NULL;
  REQUIRE(CCS_datadesc_create_contiguous(1 << 30, CCS_DATA64, &row) == CCS_SUCCESS);
  REQUIRE(CCS_datadesc_create_contiguous(1 << 10, row, &matrix) == CCS_SUCCESS);
  CHECK(CCS_datadesc_size(matrix) == CCS_aint_t{1} << 43);
  CHECK(CCS_datadesc_extent(matrix) == CCS_aint_t{1} << 43);
  CCS_datadesc_free(&matrix);
  CCS_datadesc_free(&row);
  // Two bytes with a distance of 6 GiB.
  constexpr size_t far = size_t{6} << 30;
  void* const sparse =
      mmap(nullptr, far + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(sparse != MAP_FAILED);
  auto* const memory = static_cast<unsigned char*>(sparse);
  memory[7] = 1;
  memory[far] = 2;
  CCS_datadesc_t two = CCS_DATA_NULL;
  const CCS_aint_t at[] = {static_cast<CCS_aint_t>(far) - 7, 0};
  const size_t lengths[] = {1, 1};
  REQUIRE(CCS_datadesc_create_iov(2, at, lengths, &two) == CCS_SUCCESS);
  CHECK(CCS_datadesc_extent(two) == static_cast<CCS_aint_t>(far) - 6);
  unsigned char packed[2] = {};
  CHECK(CCS_pack(packed, memory + 7, 1, two, 2) == CCS_SUCCESS);
  CHECK(packed[0] == 2);
  CHECK(packed[1] == 1);
  CCS_datadesc_free(&two);
  munmap(sparse, far + 4096);
}

TEST_CASE("a description of absolute addresses has NULL as its buffer, others have not", "[descriptions]") {
  std::vector<unsigned char> memory = noise(4096), packed(2048);
  CCS_datadesc_t relative = CCS_DATA_NULL, absolute = CCS_DATA_NULL;
  REQUIRE(CCS_datadesc_create_vector(256, 8, 16, CCS_DATA8, &relative) == CCS_SUCCESS);
  int one = 1;
  CCS_aint_t at = reinterpret_cast<CCS_aint_t>(memory.data());
  REQUIRE(CCS_datadesc_create_indexed(1, &one, &at, relative, &absolute) == CCS_SUCCESS);
  REQUIRE(CCS_pack(packed.data(), nullptr, 1, absolute, packed.size()) == CCS_SUCCESS);
  for (size_t i = 0; i < packed.size(); ++i) REQUIRE(packed[i] == memory[i / 8 * 16 + i % 8]);
  CHECK(CCS_pack(packed.data(), nullptr, 1, relative, packed.size()) == CCS_FAILURE);
  CHECK(CCS_unpack(nullptr, packed.data(), 1, relative, packed.size()) == CCS_FAILURE);
  CHECK(CCS_pack(packed.data(), nullptr, 0, relative, packed.size()) == CCS_SUCCESS);
  CCS_datadesc_free(&absolute);
  CCS_datadesc_free(&relative);
}
