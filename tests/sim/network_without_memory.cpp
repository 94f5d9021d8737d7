// The simulated network without memory: a post sends its message once or not at all, and a poll loses none.
#include <catch2/catch.hpp>
#include <new>
#include <vector>

#include "tests/sim/net_job.hpp"
#include "tests/support/failing_memory.hpp"

using namespace sim_test;
using lci_test::failing_memory;

namespace {

/// Counts messages and completions, and allocates nothing.
struct counting_sink final : lci::network::event_sink {
  void on_recv(int, const std::byte*, size_t size, void*) override {
    ++messages;
    bytes += size;
  }
  void on_complete(void*) override { ++completed; }
  void on_remote_write(int, uint32_t) override { ++written; }
  void on_peer_failure(int, const char*) override {}
  void on_operation_failure(void*, int) override {}
  int messages = 0, completed = 0, written = 0;
  size_t bytes = 0;
};

/// Posts the operation while allocation number `good` fails, and again if that made the post fail.
errorcode_t post_lacking(long good, lci::network::device& d, const net_op& op, int& refused) {
  errorcode_t posted = errorcode_t::retry_nomem;
  {
    const failing_memory none(0, good, 1);
    try {
      posted = d.post(op);
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  return lci::error_t(posted).is_retry() ? d.post(op) : posted;
}

}  // namespace

TEST_CASE("a message is sent and received once, whichever allocation fails") {
  constexpr size_t size = 100;
  int refused = 0, waited = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed)
    for (long good = 0; good < 12; ++good) {
      INFO("seed " << seed << ", after " << good);
      net_job job(net_job::calm(2, seed));
      const auto data = bytes(size, seed);
      const net_op op = job.registered(0, send_op(1, data.data(), size, id(1)));
      const errorcode_t posted = post_lacking(good, job.device(0), op, refused);
      counting_sink sender, receiver;
      {
        const failing_memory none(0, good, 1);
        for (int i = 0; i < 20; ++i) {
          try {
            job.device(1).poll(receiver, 32);
          } catch (const std::bad_alloc&) {
            ++waited;
          }
        }
      }
      for (int i = 0; i < 20; ++i) job.device(0).poll(sender, 32);
      CHECK(receiver.messages == 1);
      CHECK(receiver.bytes == size);
      CHECK(sender.completed == (posted == errorcode_t::posted ? 1 : 0));
      CHECK(job.world->violations().empty());
    }
  CHECK(refused > 0);
  CHECK(waited > 0);
}

TEST_CASE("a put takes effect and completes once, whichever allocation fails") {
  constexpr size_t size = 100;
  int refused = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed)
    for (long good = 0; good < 12; ++good) {
      const int target = static_cast<int>(seed % 2);  // another rank, or the own one
      INFO("seed " << seed << ", after " << good);
      net_job job(net_job::calm(2, seed));
      const auto data = bytes(size, seed);
      std::vector<std::byte> there(size);
      const auto key = job.device(target).register_memory(there.data(), size).rkey;
      net_op op = job.registered(
          0, memory_op(verb::put, target, const_cast<std::byte*>(data.data()), size, there.data(), key, id(1)));
      op.has_imm = true;
      const errorcode_t posted = post_lacking(good, job.device(0), op, refused);
      counting_sink seen[2];
      {
        const failing_memory none;
        for (int i = 0; i < 40; ++i) job.device(i % 2).poll(seen[i % 2], 32);
      }
      CHECK(there == data);
      CHECK(seen[target].written == 1);
      CHECK(seen[0].completed == (posted == errorcode_t::posted ? 1 : 0));
      CHECK(job.world->violations().empty());
    }
  CHECK(refused > 0);
}
