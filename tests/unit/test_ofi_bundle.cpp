// Bundles of the libfabric backend: several messages in one.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "network/ofi/bundle.hpp"

namespace bundle = lci::network::ofi::bundle;

namespace {

std::vector<std::byte> bundle_of(const std::vector<std::string>& messages) {
  size_t size = 0;
  for (const auto& m : messages) size += bundle::room_for(m.size());
  std::vector<std::byte> all(size);
  std::byte* at = all.data();
  for (const auto& m : messages) {
    std::memcpy(bundle::begin_entry(at, m.size()), m.data(), m.size());
    at += bundle::room_for(m.size());
  }
  return all;
}

std::vector<std::string> messages_of(const std::vector<std::byte>& all, size_t size, size_t& end) {
  std::vector<std::string> found;
  const std::byte* message;
  size_t length;
  for (end = 0; bundle::next(all.data(), size, end, message, length);)
    found.emplace_back(reinterpret_cast<const char*>(message), length);
  return found;
}

}  // namespace

TEST_CASE("the messages of a bundle are read as they were written, each at an aligned offset", "[unit]") {
  const std::vector<std::string> messages = {"", "a", std::string(15, 'b'), std::string(16, 'c'),
                                             std::string(1000, 'd')};
  const auto all = bundle_of(messages);
  size_t end = 0;
  CHECK(messages_of(all, all.size(), end) == messages);
  CHECK(end == all.size());
  CHECK(all.size() % bundle::alignment == 0);
}

TEST_CASE("an invalid bundle is read within its bounds only", "[unit]") {
  std::mt19937_64 random(1);
  const auto good = bundle_of({"one", "", std::string(100, 'x'), "four"});
  for (size_t size = 0; size < good.size(); ++size) {
    // In its own allocation, so that a sanitizer detects every access out of bounds.
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    size_t end = 0;
    CHECK(messages_of(cut, cut.size(), end).size() <= 4);
  }
  for (int round = 0; round < 5000; ++round) {
    auto bad = good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<std::byte>(random());
    const uint64_t sizes[] = {~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{1} << 63, bad.size()};
    std::memcpy(bad.data() + random() % (bad.size() / 16) * 16, &sizes[random() % 4], 8);
    size_t end = 0;
    CHECK(messages_of(bad, bad.size(), end).size() <= bad.size() / bundle::alignment);
  }
}
