// Packets that name operations of others, in the very moment in which these begin, end and are used
// again: all are rejected, and the operations never notice.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/runtime/runtime.hpp"
#include "network/sim/world.hpp"
#include "tests/support/testing.hpp"

namespace {

namespace wire = lci::core::wire;
using lci::network::sim::random_source;

constexpr size_t large = 5000;
constexpr int liar = 2;  // the rank that the packets claim to be from; it has no operations

/// Rank 0 and 1 exchange messages of every kind that waits for an answer. One thread.
class pair_of_ranks {
 public:
  pair_of_ranks(lci::attr_rdv_protocol_t protocol, bool rma) {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = 3;
    attr.close_timeout = 0;  // no rank answers operations that random packets have started
    attr.sim_retry_percent = 0;
    attr.sim_rma = rma;
    attr.rdv_protocol = protocol;
    attr.packet_size = 1024;
    attr.npackets = 256;
    lci::set_g_default_attr(attr);
    for (auto& rt : runtimes_) rt = lci::alloc_runtime_x()();
    lci::set_g_default_attr(before);
    for (int r = 0; r < 2; ++r) {
      cq_[r] = lci::alloc_cq_x().runtime(runtimes_[r])();
      rcomp_[r] = lci::register_rcomp_x(cq_[r]).runtime(runtimes_[r])();
      mr_[r] = lci::register_memory_x(window_[r].data(), large).runtime(runtimes_[r])();
    }
  }

  ~pair_of_ranks() {
    for (int r = 0; r < 2; ++r) {
      lci::deregister_memory_x(&mr_[r]).runtime(runtimes_[r])();
      lci::deregister_rcomp_x(rcomp_[r]).runtime(runtimes_[r])();
      lci::free_comp_x(&cq_[r]).runtime(runtimes_[r])();
    }
    for (auto& rt : runtimes_) lci::free_runtime(&rt);
  }

  lci::runtime_t runtime(int rank) const { return runtimes_[rank]; }

  /// One message of each kind in both directions. False if bytes have changed.
  bool exchange(unsigned char value) {
    std::vector<unsigned char> out(large, value), in[2], got[2];
    int expected[2] = {};
    for (int r = 0; r < 2; ++r) {
      using namespace lci;
      const runtime_t rt = runtimes_[r];
      const int peer = 1 - r;
      in[r].assign(large, 0);
      got[r].assign(large, 0);
      const rmr_t window = get_rmr_x(mr_[peer]).runtime(runtimes_[peer])();
      const auto finish = [&](auto post) { return post.runtime(rt).allow_done(false)(); };
      post([&] { return finish(post_recv_x(peer, in[r].data(), large, 1, cq_[r])); });
      post([&] { return finish(post_send_x(peer, out.data(), large, 1, cq_[r])); });
      post([&] { return finish(post_am_x(peer, out.data(), large, cq_[r], rcomp_[peer])); });
      post([&] { return finish(post_put_x(peer, out.data(), large / 2, cq_[r], 0, window)); });
      post([&] { return finish(post_get_x(peer, got[r].data(), large / 2, cq_[r], large / 2, window)); });
      expected[r] = 6;  // five of its own, and the message that arrives
    }
    while (expected[0] + expected[1] > 0)
      for (int r = 0; r < 2; ++r) {
        progress();
        const lci::status_t status = lci::cq_pop_x(cq_[r]).runtime(runtimes_[r])();
        if (status.is_retry()) continue;
        --expected[r];
        if (status.rank != 1 - r || !status.is_done()) return false;
        const bool of_message =
            status.buffer != in[r].data() && status.buffer != out.data() && status.buffer != got[r].data();
        if (of_message) std::free(status.buffer);
      }
    const auto is = [](const auto& v, size_t n, unsigned char b) {
      return std::all_of(v.begin(), v.begin() + n, [=](unsigned char c) { return c == b; });
    };
    for (int r = 0; r < 2; ++r)
      if (!is(in[r], large, value) || !is(window_[r], large / 2, value) || !is(got[r], large / 2, 7)) return false;
    return true;
  }

 private:
  void progress() {
    for (const lci::runtime_t& rt : runtimes_) (void)lci::progress_x().runtime(rt)();
  }
  template <class F>
  void post(F f) {
    lci::status_t status;
    while ((status = f().error).is_retry()) progress();
  }

  lci::runtime_t runtimes_[3];
  lci::comp_t cq_[2];
  lci::rcomp_t rcomp_[2];
  lci::mr_t mr_[2];
  std::vector<unsigned char> window_[2] = {std::vector<unsigned char>(large, 7), std::vector<unsigned char>(large, 7)};
};

/// A packet that answers an operation which may well exist.
std::vector<std::byte> answer(random_source& random) {
  constexpr wire::kind kinds[] = {wire::kind::rtr, wire::kind::fin, wire::kind::fragment, wire::kind::ack};
  wire::header head;
  head.what = kinds[random.up_to(3)];
  // A FIN that says not_found, policy 3, answers no operation.
  head.policy = static_cast<uint8_t>(random.up_to(head.what == wire::kind::rtr ? 3 : 2));
  head.tag = (random.up_to(255) << 24) + random.up_to(12);
  const uint64_t body[4] = {random.up_to(100), 0, 1, 0};
  std::vector<std::byte> bytes(sizeof head + sizeof body + random.up_to(100));
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, body, sizeof body);
  return bytes;
}

}  // namespace

TEST_CASE("answers from a rank that was not asked are rejected, whenever they come") {
  using protocol = lci::attr_rdv_protocol_t;
  for (bool rma : {true, false})
    for (protocol p : {protocol::write, protocol::writeimm, protocol::read, protocol::copy, protocol::split}) {
      INFO("rma " << rma << ", protocol " << static_cast<int>(p));
      pair_of_ranks ranks(p, rma);
      std::atomic<bool> over{false};
      std::atomic<uint64_t> sent{0};
      std::vector<std::thread> liars;
      for (int r = 0; r < 2; ++r)
        liars.emplace_back([&, r] {
          random_source random(static_cast<uint64_t>(r) + 1);
          auto* device = lci::get_default_device_x().runtime(ranks.runtime(r))().p_impl;
          while (!over.load(std::memory_order_relaxed)) {
            const auto bytes = answer(random);
            device->on_recv(liar, bytes.data(), bytes.size(), nullptr);
            sent.fetch_add(1, std::memory_order_relaxed);
          }
        });
      bool good = true;
      for (int i = 0; i < 1000 / lci_test::time_scale && good; ++i)
        good = ranks.exchange(static_cast<unsigned char>(i));
      over = true;
      for (auto& t : liars) t.join();
      CHECK(good);
      uint64_t rejected = 0;
      for (int r = 0; r < 2; ++r) rejected += ranks.runtime(r).p_impl->rejected_packets.load(std::memory_order_relaxed);
      CHECK(sent > 0);
      CHECK(rejected == sent);
    }
}
