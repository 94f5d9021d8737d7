// What the wire's decoders do with any bytes at all. Deterministic: a failure names its seed.
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "lib/core/wire/wire.hpp"
#include "network/sim/world.hpp"
#include "tests/support/testing.hpp"

namespace {

namespace wire = lci::core::wire;
using lci::network::sim::random_source;

/// Exactly as large as it says, so that a sanitizer sees the first byte read beyond it.
struct packet {
  explicit packet(const std::vector<std::byte>& bytes) : size(bytes.size()), data(new std::byte[bytes.size()]) {
    if (size > 0) std::memcpy(data.get(), bytes.data(), size);
  }
  size_t size;
  std::unique_ptr<std::byte[]> data;
};

template <class Body>
void check_body(const packet& p, wire::message m) {
  const size_t before = m.size;
  Body body;
  const bool taken = wire::take_body(m, body);
  REQUIRE(taken == (before >= sizeof(Body)));
  if (!taken) return;
  REQUIRE(m.size == before - sizeof(Body));
  REQUIRE(m.data == p.data.get() + sizeof(wire::header) + sizeof(Body));
  REQUIRE(std::memcmp(&body, p.data.get() + sizeof(wire::header), sizeof(Body)) == 0);
}

void check(const std::vector<std::byte>& bytes) {
  const packet p(bytes);
  wire::message m;
  const bool good = wire::decode(p.data.get(), p.size, m);
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  bool expected = bytes.size() >= sizeof(wire::header) && at(0) != 0 && at(0) <= static_cast<uint8_t>(wire::kind::last);
  if (expected) {
    const auto kind = static_cast<wire::kind>(at(0));
    const bool answers = kind == wire::kind::fin || kind == wire::kind::ack;
    expected = at(1) <= (answers ? wire::no_memory : uint8_t{3});  // 3: the last matching policy
  }
  REQUIRE(good == expected);
  if (!good) return;
  REQUIRE(m.data == p.data.get() + sizeof(wire::header));
  REQUIRE(m.size == p.size - sizeof(wire::header));
  check_body<wire::rts_body>(p, m);
  check_body<wire::rtr_body>(p, m);
  check_body<wire::fragment_body>(p, m);
  check_body<wire::signal_body>(p, m);
  check_body<wire::put_body>(p, m);
  check_body<wire::get_body>(p, m);
}

}  // namespace

TEST_CASE("the wire's decoders accept what they should, reject the rest, and read no further") {
  for (uint64_t seed = 1; seed <= 20000u * lci_test::long_runs(); ++seed) {
    INFO("seed " << seed);
    random_source random(seed);
    std::vector<std::byte> bytes(random.up_to(80));
    for (auto& b : bytes) b = static_cast<std::byte>(random.next());
    // Most of them look like ours, or nearly.
    if (bytes.size() > 1 && random.percent(80)) {
      bytes[0] = static_cast<std::byte>(random.up_to(static_cast<uint64_t>(wire::kind::last) + 1));
      bytes[1] = static_cast<std::byte>(random.up_to(4));
    }
    check(bytes);
  }
}

TEMPLATE_TEST_CASE("a body is decoded as it was encoded", "", wire::rts_body, wire::rtr_body, wire::fragment_body,
                   wire::signal_body, wire::put_body, wire::get_body) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    random_source random(seed);
    wire::framed<TestType> sent{};
    sent.head.what = static_cast<wire::kind>(1 + random.up_to(10));
    sent.head.policy = static_cast<uint8_t>(random.up_to(3));
    sent.head.engine = static_cast<uint16_t>(random.next());
    sent.head.word = static_cast<uint32_t>(random.next());
    sent.head.tag = random.next();
    for (size_t i = 0; i < sizeof(TestType); ++i)
      reinterpret_cast<std::byte*>(&sent.body)[i] = static_cast<std::byte>(random.next());
    wire::message m;
    REQUIRE(wire::decode(reinterpret_cast<const std::byte*>(&sent), sizeof sent, m));
    REQUIRE(std::memcmp(&m.head, &sent.head, sizeof sent.head) == 0);
    TestType body;
    REQUIRE(wire::take_body(m, body));
    REQUIRE(std::memcmp(&body, &sent.body, sizeof body) == 0);
    REQUIRE(m.size == 0);
  }
}
