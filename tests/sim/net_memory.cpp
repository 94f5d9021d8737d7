// The simulated network keeps the contract of network/fabric.hpp: puts and gets.
#include <catch2/catch.hpp>
#include <set>

#include "tests/sim/net_job.hpp"

using namespace sim_test;

TEST_CASE("puts and gets move their bytes before they complete, without polls of the target") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    net_job job(net_job::net_attr(2, seed));
    auto remote = bytes(1000, seed);
    const registration key = job.device(1).register_memory(remote.data(), remote.size());
    auto local = bytes(500, seed + 1);
    const auto put_and_wait = [&](const net_op& op) {
      const net_op ready = job.registered(0, op);
      errorcode_t e;
      while (lci::error_t(e = job.device(0).post(ready)).is_retry()) {
      }
      while (e == errorcode_t::posted && job.seen(0).completed.empty()) job.device(0).poll(job.seen(0), 32);
      job.seen(0).completed.clear();
    };
    put_and_wait(memory_op(verb::put, 1, local.data(), 500, &remote[100], key.rkey, id(0)));
    REQUIRE(std::equal(local.begin(), local.end(), remote.begin() + 100));
    REQUIRE(std::equal(remote.begin(), remote.begin() + 100, bytes(1000, seed).begin()));
    std::vector<std::byte> back(1000);
    net_op get = memory_op(verb::get, 1, back.data(), 300, remote.data(), key.rkey, id(1));
    get.segments[get.n_segments++] = {back.data() + 300, 700};
    put_and_wait(get);
    REQUIRE(back == remote);
    const uint64_t before = job.world->stats().registrations;
    job.device(1).deregister_memory(key);
    REQUIRE(job.world->stats().registrations == before - 1);
    REQUIRE(job.world->stats().rma_applied == 2);
    REQUIRE(job.world->violations().empty());
  }
}

TEST_CASE("a put with immediate data is reported once, after its data") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    net_job job(net_job::net_attr(2, seed));
    REQUIRE(job.device(0).get_limits().put_imm);
    std::vector<std::byte> remote(100);
    const registration key = job.device(1).register_memory(remote.data(), remote.size());
    auto local = bytes(100, seed);
    net_op op = memory_op(verb::put, 1, local.data(), 100, remote.data(), key.rkey, id(0));
    op.has_imm = true;
    op.imm = 0xabcd0000 + static_cast<uint32_t>(seed);
    job.post(0, op);
    while (job.seen(1).writes.empty()) job.poll_all();
    REQUIRE(remote == local);
    job.settle();
    REQUIRE(job.seen(1).writes == std::vector<std::pair<int, uint32_t>>{{0, op.imm}});
  }
}

TEST_CASE("an inject put has copied its bytes when the post returns") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    net_job job(net_job::net_attr(2, seed));
    std::vector<std::byte> remote(64);
    const registration key = job.device(1).register_memory(remote.data(), remote.size());
    auto local = bytes(64, seed);
    net_op op = memory_op(verb::put, 1, local.data(), 64, remote.data(), key.rkey, id(0));
    op.inject = true;
    REQUIRE(job.post(0, op) == errorcode_t::done);
    std::fill(local.begin(), local.end(), std::byte{0});
    job.settle();
    REQUIRE(remote == bytes(64, seed));
    REQUIRE(job.seen(0).completed.empty());
  }
}

TEST_CASE("a send never overtakes a put that was posted before it") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    net_job job(net_job::net_attr(2, seed));
    REQUIRE(job.device(0).get_limits().put_then_send_ordered);
    std::vector<std::byte> remote(64);
    const registration key = job.device(1).register_memory(remote.data(), remote.size());
    auto local = bytes(64, seed);
    job.post(0, memory_op(verb::put, 1, local.data(), 64, remote.data(), key.rkey, id(0)));
    job.post(0, send_op(1, "landed", 6, nullptr, true));
    while (job.seen(1).messages.empty()) job.poll_all();
    REQUIRE(remote == local);
  }
}

namespace {

/// Posts puts of the numbers 1 to 20 to the same word. Returns whether the target ever saw a smaller number after a
/// larger one.
bool overtakes(bool ordered, uint64_t seed) {
  net_job job(net_job::net_attr(2, seed));
  REQUIRE(job.device(0).get_limits().max_ordered_put == job.device(0).get_limits().max_rma);
  uint64_t word = 0, last = 0;
  const registration key = job.device(1).register_memory(&word, sizeof word);
  std::vector<uint64_t> numbers(20);
  bool smaller = false;
  const auto look = [&] {
    smaller |= word < last;
    last = word;
  };
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = i + 1;
    net_op op = memory_op(verb::put, 1, &numbers[i], sizeof word, &word, key.rkey, id(i));
    op.inject = i % 3 == 0;
    op.ordered = ordered;
    job.post(0, op);
    look();
    if (i % 4 == 0) job.poll_all();
    look();
  }
  job.post(0, send_op(1, "behind", 6, nullptr, true));
  while (job.seen(1).messages.empty()) {
    job.poll_all();
    look();
  }
  // Without `ordered`, the message is behind all puts, too.
  REQUIRE((!ordered || word == numbers.size()));
  job.settle();
  look();
  REQUIRE(job.world->violations().empty());
  return smaller || word != numbers.size();
}

}  // namespace

TEST_CASE("ordered puts are placed in posting order, others in any") {
  int of_others = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    REQUIRE(!overtakes(true, seed));
    of_others += overtakes(false, seed) ? 1 : 0;
  }
  REQUIRE(of_others > 50);
}

TEST_CASE("an access without the right key fails, is recorded, and changes no memory") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    net_job job(net_job::net_attr(3, seed));
    std::vector<std::byte> remote(100), local(100, std::byte{9});
    const registration key = job.device(1).register_memory(remote.data() + 10, 80);
    const registration of_2 = job.device(2).register_memory(remote.data(), 100);
    auto second = job.nodes[1].context->create_device(net_job::device_attr(), 4096);
    const registration of_second = second->register_memory(remote.data(), 100);
    const auto old = job.device(1).register_memory(remote.data(), 100);
    job.device(1).deregister_memory(old);
    const registration read_only = job.device(1).register_memory(remote.data(), 100);
    job.device(1).make_read_only(read_only);
    std::set<void*> ops;
    const auto attempt = [&](verb kind, size_t offset, size_t size, uint64_t rkey) {
      void* context = id(ops.size());
      ops.insert(context);
      REQUIRE(job.post(0, memory_op(kind, 1, local.data(), size, &remote[offset], rkey, context)) ==
              errorcode_t::posted);
    };
    for (verb kind : {verb::put, verb::get}) {
      attempt(kind, 9, 10, key.rkey);         // before the range
      attempt(kind, 89, 2, key.rkey);         // beyond the range
      attempt(kind, 10, 10, key.rkey + 1);    // no such key
      attempt(kind, 10, 10, key.lkey);        // a local key
      attempt(kind, 10, 10, of_2.rkey);       // another rank's
      attempt(kind, 10, 10, of_second.rkey);  // another device's
      attempt(kind, 10, 10, old.rkey);        // no longer registered
    }
    attempt(verb::put, 10, 10, read_only.rkey);
    job.settle();
    std::set<void*> failed;
    for (auto [context, peer] : job.seen(0).failed) {
      failed.insert(context);
      REQUIRE(peer == 1);
    }
    REQUIRE(failed == ops);
    REQUIRE(job.seen(0).failed.size() == ops.size());
    REQUIRE(job.seen(0).completed.empty());
    REQUIRE(job.world->violations().size() == ops.size());
    REQUIRE(remote == std::vector<std::byte>(100));
    REQUIRE(local == std::vector<std::byte>(100, std::byte{9}));
  }
}

TEST_CASE("segments must be within the registration of their lkey") {
  net_job job(net_job::calm(2));
  std::vector<std::byte> data(100);
  const registration key = job.device(0).register_memory(data.data(), 50);
  net_op op = send_op(1, data.data(), 50, nullptr);
  op.segments[0].lkey = key.lkey;
  REQUIRE(lci::error_t(job.device(0).post(op)).is_retry() == false);
  REQUIRE(job.world->violations().empty());
  op.segments[0].size = 51;
  REQUIRE(job.device(0).post(op) == errorcode_t::fatal);
  op.segments[0] = {data.data(), 50, key.rkey};
  REQUIRE(job.device(0).post(op) == errorcode_t::fatal);
  op.segments[0] = {data.data(), 50};
  REQUIRE(job.device(0).post(op) == errorcode_t::fatal);
  REQUIRE(job.world->violations().size() == 3);
  op.inject = true;
  REQUIRE(job.device(0).post(op) == errorcode_t::done);
  REQUIRE(job.world->violations().size() == 3);
  job.settle();
}

TEST_CASE("memory can be deregistered once, by the device that has registered it") {
  net_job job(net_job::calm(2));
  int x = 0;
  const registration key = job.device(0).register_memory(&x, sizeof x);
  REQUIRE(key.rkey != 0);
  REQUIRE(key.lkey != key.rkey);
  job.device(1).deregister_memory(key);
  REQUIRE(job.world->violations().size() == 1);
  job.device(0).deregister_memory(key);
  REQUIRE(job.world->violations().size() == 1);
  job.device(0).deregister_memory(key);
  REQUIRE(job.world->violations().size() == 2);
}

TEST_CASE("without sim_rma there are no puts and gets") {
  auto attr = net_job::calm(2);
  attr.sim_rma = false;
  net_job job(attr);
  REQUIRE_FALSE(job.device(0).get_limits().rma);
  REQUIRE_FALSE(job.device(0).get_limits().put_imm);
  int x = 0;
  const registration key = job.device(1).register_memory(&x, sizeof x);
  REQUIRE(job.post(0, memory_op(verb::put, 1, &x, 4, &x, key.rkey, nullptr)) == errorcode_t::fatal);
  REQUIRE(job.world->violations().size() == 1);
}

TEST_CASE("a put or get larger than max_msg_size is refused") {
  auto attr = net_job::calm(2);
  attr.max_msg_size = 100;
  net_job job(attr);
  REQUIRE(job.device(0).get_limits().max_rma == 100);
  std::vector<std::byte> data(101);
  const registration key = job.device(1).register_memory(data.data(), data.size());
  REQUIRE(job.device(0).post(memory_op(verb::get, 1, data.data(), 101, data.data(), key.rkey, nullptr)) ==
          errorcode_t::fatal);
  REQUIRE(job.world->violations().size() == 1);
}
