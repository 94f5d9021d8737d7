// Packets with random content, as a faulty peer may send them: the device rejects and counts invalid ones, writes only
// to memory of outstanding operations, and still works afterwards. Deterministic: a failure prints its seed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <vector>

#include "lci.hpp"
#include "lib/base/insist_on_memory.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/runtime/runtime.hpp"
#include "network/sim/world.hpp"
#include "tests/support/testing.hpp"

// Lengths in packets are random. A sanitizer's malloc must return null for huge ones, as other mallocs do.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace {

namespace wire = lci::core::wire;
using lci::network::sim::random_source;

constexpr size_t large = 5000;
constexpr std::byte guard{0xa5};

/// Allocates the memory of active messages, and frees it at the end. The completion object can't free it: its statuses
/// may come from forged signals, whose buffers were never allocated.
struct tracking_allocator final : lci::allocator_base_t {
  void* allocate(size_t size) override {
    void* p = std::malloc(size);
    if (p != nullptr) alive.insert(p);
    return p;
  }
  void deallocate(void* p) override {
    alive.erase(p);
    std::free(p);
  }
  ~tracking_allocator() override {
    for (void* p : alive) std::free(p);
  }
  std::set<void*> alive;
};

struct counting final : lci::comp_impl_t {
  void signal(lci::status_t) override { ++count; }
  int count = 0;
};

/// Rank 0 of two, with an operation in each state in which packets can name it. The packets appear to come from rank 1.
struct victim {
  explicit victim(uint64_t seed, lci::attr_rdv_protocol_t protocol, bool rma) {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = 2;
    attr.sim_seed = seed;
    attr.sim_retry_percent = 0;
    attr.close_timeout = 0;  // rank 1 does not answer operations that random packets have started
    attr.sim_rma = rma;
    attr.rdv_protocol = protocol;
    attr.packet_size = 1024;
    attr.npackets = 256;
    lci::set_g_default_attr(attr);
    for (auto& rt : runtimes) rt = lci::alloc_runtime_x()();
    lci::set_g_default_attr(before);
    me = runtimes[0];
    device = lci::get_default_device_x().runtime(me)().p_impl;
    lci::set_allocator_x(&allocator).runtime(me)();
    rcomp = lci::register_rcomp_x(cq).runtime(me)();
    window.resize(large + 100, guard);
    mr = lci::register_memory_x(window.data() + 50, large).runtime(me)();
    peer_window.resize(large);
    peer_mr = lci::register_memory_x(peer_window.data(), large).runtime(runtimes[1])();
    const lci::rmr_t peer = lci::get_rmr_x(peer_mr).runtime(runtimes[1])();
    for (auto& b : buffers) b.assign(large + 100, guard);
    using namespace lci;
    post([&] { return post_recv_x(1, buffers[0].data() + 50, large, 7, cq).runtime(me)(); });
    post([&] { return post_recv_x(1, buffers[1].data() + 50, 10, 8, cq).runtime(me)(); });
    post([&] { return post_send_x(1, buffers[2].data() + 50, large, 9, cq).runtime(me)(); });
    post([&] { return post_am_x(1, buffers[3].data() + 50, large, cq, 1).runtime(me)(); });
    post([&] { return post_put_x(1, buffers[4].data() + 50, large, cq, 0, peer).runtime(me)(); });
    post([&] { return post_get_x(1, buffers[5].data() + 50, large, cq, 0, peer).runtime(me)(); });
  }

  template <class F>
  void post(F f) {
    lci::status_t status;
    while ((status = f()).is_retry()) (void)lci::progress_x().runtime(me)();
  }

  ~victim() {
    lci::deregister_memory_x(&mr).runtime(me)();
    lci::deregister_memory_x(&peer_mr).runtime(runtimes[1])();
    lci::deregister_rcomp_x(rcomp).runtime(me)();
    for (auto& rt : runtimes) lci::free_runtime(&rt);
  }

  bool guards_intact() const {
    const auto intact = [](const std::vector<std::byte>& v, size_t size) {
      return std::all_of(v.begin(), v.begin() + 50, [](auto b) { return b == guard; }) &&
             std::all_of(v.begin() + 50 + size, v.end(), [](auto b) { return b == guard; });
    };
    for (int i = 0; i < 6; ++i)
      if (!intact(buffers[i], i == 1 ? 10 : large)) return false;
    return intact(window, large);
  }

  lci::runtime_t runtimes[2], me;
  lci::core::device* device;
  tracking_allocator allocator;
  counting told;
  lci::comp_t cq{&told};
  lci::rcomp_t rcomp;
  lci::mr_t mr, peer_mr;
  std::vector<std::byte> window, peer_window;
  std::vector<std::byte> buffers[6];
};

/// A number that a packet's field may well have, or not.
uint64_t number(random_source& random, const victim& v) {
  const lci::rmr_t window = lci::get_rmr_x(v.mr).runtime(v.me)();
  switch (random.up_to(9)) {
    case 0:
      return 0;
    case 1:
      return random.up_to(10);
    case 2:
      return window.base + random.up_to(large + 10);
    case 3:
      return window.opaque_rkey;
    case 4:
      return random.up_to(2 * large);
    case 5:
      return large;
    case 6:
      return ~random.up_to(10);
    case 7:
      return (random.up_to(3) << 24) + random.up_to(70);  // the handle of an operation
    default:
      return random.next();
  }
}

std::vector<std::byte> invented(random_source& random, const victim& v) {
  wire::header head;
  head.what = static_cast<wire::kind>(random.up_to(static_cast<uint64_t>(wire::kind::last) + 1));
  head.policy = static_cast<uint8_t>(random.percent(50) ? 3 : random.up_to(4));
  head.engine = static_cast<uint16_t>(random.percent(80) ? 1 + random.up_to(1) : random.next());
  head.word = static_cast<uint32_t>(random.percent(60) ? v.rcomp : random.next());
  head.tag = random.percent(50) ? 7 + random.up_to(1) : number(random, v);
  if (random.percent(40)) head.tag = random.up_to(12);
  uint64_t body[4];
  for (auto& b : body) b = number(random, v);
  std::vector<std::byte> bytes(sizeof head + sizeof body + random.up_to(900));
  for (auto& b : bytes) b = static_cast<std::byte>(random.next());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, body, sizeof body);
  if (random.percent(30)) bytes.resize(random.up_to(bytes.size()));
  return bytes;
}

}  // namespace

TEST_CASE("a device rejects invalid packets of any content") {
  using protocol = lci::attr_rdv_protocol_t;
  for (bool rma : {true, false})
    for (protocol p : {protocol::write, protocol::writeimm, protocol::read, protocol::copy, protocol::split})
      for (uint64_t seed = 1; seed <= 60u * lci_test::long_runs(); ++seed) {
        INFO("seed " << seed << ", rma " << rma << ", protocol " << static_cast<int>(p));
        victim v(seed, p, rma);
        random_source random(seed);
        for (int i = 0; i < 100; ++i) {
          const auto bytes = invented(random, v);
          const std::unique_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
          std::copy(bytes.begin(), bytes.end(), exact.get());
          try {
            v.device->on_recv(1, exact.get(), bytes.size(), nullptr);
          } catch (const std::bad_alloc&) {
            // Correct: the packet requires more memory than there is.
          }
          if (random.percent(30)) {
            (void)lci::progress_x().runtime(v.me)();
            (void)lci::progress_x().runtime(v.runtimes[1])();
          }
          REQUIRE(v.guards_intact());
        }
        for (int i = 0; i < 200; ++i) {
          (void)lci::progress_x().runtime(v.me)();
          (void)lci::progress_x().runtime(v.runtimes[1])();
        }
        REQUIRE(v.guards_intact());
        REQUIRE(v.me.p_impl->rejected_packets.load(std::memory_order_relaxed) > 0);
      }
}

TEST_CASE("a packet of no known kind is counted as rejected, and changes nothing") {
  victim v(1, lci::attr_rdv_protocol_t::read, true);
  const auto count = [&] { return v.me.p_impl->rejected_packets.load(std::memory_order_relaxed); };
  const auto before = count();
  std::vector<std::byte> bytes(40);
  for (int kind : {0, static_cast<int>(wire::kind::last) + 1, 255}) {
    bytes[0] = static_cast<std::byte>(kind);
    v.device->on_recv(1, bytes.data(), bytes.size(), nullptr);
  }
  bytes[0] = static_cast<std::byte>(wire::kind::am);
  for (size_t size = 0; size < sizeof(wire::header); ++size) v.device->on_recv(1, bytes.data(), size, nullptr);
  REQUIRE(count() == before + 3 + sizeof(wire::header));
}

TEST_CASE("a request that needs more memory than the host has is refused without a wait for memory") {
  constexpr int count = 50;
  victim v(1, lci::attr_rdv_protocol_t::read, true);
  lci::set_allocator_x(nullptr).runtime(v.me)();
  wire::framed<wire::rts_body> request{};
  request.head.what = wire::kind::rts_am;
  request.head.word = v.rcomp;
  request.body = {uint64_t{1} << 50, 0, 0, 1};
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    v.device->on_recv(1, reinterpret_cast<const std::byte*>(&request), sizeof request, nullptr);
  // Half of what the waits would take.
  CHECK(std::chrono::steady_clock::now() - begin < count * std::chrono::milliseconds(lci::memory_tries) / 2);
}
