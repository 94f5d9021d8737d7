// Registration of memory, and its keys.
#include <lci.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/world.hpp"

using namespace v1;

LCI_error_t LCI_memory_register(LCI_device_t device, void* address, size_t length, LCI_segment_t* segment) {
  return guarded("LCI_memory_register", [&] {
    check_buffer_call(device, segment);
    auto made = std::make_unique<LCII_mr_t>();
    made->mr = lci::register_memory_x(address, length).device(device->core)();
    made->rmr = lci::get_rmr(made->mr);
    made->device = device;
    record_created(made.get());
    *segment = made.release();
    return LCI_OK;
  });
}

LCI_error_t LCI_memory_deregister(LCI_segment_t* segment) {
  return guarded("LCI_memory_deregister", [&] {
    if (segment == nullptr) return fail("LCI_memory_deregister", "segment is NULL, but must be the address of one");
    if (*segment == nullptr) return LCI_OK;
    if (checking()) check_segment(*segment);
    record_freed(*segment);
    const std::unique_ptr<LCII_mr_t> ended(*segment);
    *segment = nullptr;
    if (!ended->mr.is_empty()) lci::deregister_memory(&ended->mr);
    return LCI_OK;
  });
}

namespace {

// The version of the text, then the key in hexadecimal digits.
constexpr char version[] = "1:";
constexpr size_t text_size = sizeof version - 1 + 2 * sizeof(lci::rmr_t);
static_assert(text_size < LCI_SEGMENT_SERIALIZED_MAX);

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

LCI_error_t LCI_segment_serialize(LCI_segment_t segment, char* string) {
  return guarded("LCI_segment_serialize", [&] {
    if (string == nullptr)
      return fail("LCI_segment_serialize", "string is NULL, but must be an array of LCI_SEGMENT_SERIALIZED_MAX bytes");
    if (segment == nullptr)
      return fail("LCI_segment_serialize",
                  "segment is LCI_SEGMENT_ALL, which other ranks can't access: register the memory");
    if (checking()) check_segment(segment);
    unsigned char bytes[sizeof segment->rmr];
    std::memcpy(bytes, &segment->rmr, sizeof bytes);
    string += std::snprintf(string, LCI_SEGMENT_SERIALIZED_MAX, "%s", version);
    for (const unsigned char b : bytes) string += std::snprintf(string, 3, "%02x", b);
    return LCI_OK;
  });
}

LCI_error_t LCI_segment_deserialize(char* string, LCI_segment_t* segment) {
  return guarded("LCI_segment_deserialize", [&] {
    if (string == nullptr || segment == nullptr)
      return fail("LCI_segment_deserialize", "%s is NULL, but must not be", string == nullptr ? "string" : "segment");
    unsigned char bytes[sizeof(lci::rmr_t)] = {};
    bool valid = strnlen(string, text_size + 1) == text_size && std::strncmp(string, version, sizeof version - 1) == 0;
    const char* digits = string + sizeof version - 1;
    for (size_t i = 0; valid && i < sizeof bytes; ++i) {
      const int high = digit(digits[2 * i]), low = digit(digits[2 * i + 1]);
      valid = high >= 0 && low >= 0;
      bytes[i] = static_cast<unsigned char>(high * 16 + low);
    }
    (void)the_world();
    if (!valid)
      return fail("LCI_segment_deserialize", "string = \"%.70s\" is no text of LCI_segment_serialize()", string);
    auto made = std::make_unique<LCII_mr_t>();
    std::memcpy(&made->rmr, bytes, sizeof bytes);
    record_created(made.get());
    *segment = made.release();
    return LCI_OK;
  });
}
