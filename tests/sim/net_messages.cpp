// The simulated network keeps the contract of network/fabric.hpp: messages.
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <thread>

#include "lci/errors.hpp"
#include "tests/sim/net_job.hpp"

using namespace sim_test;

TEST_CASE("messages arrive once and intact, and every posted send completes once") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    const int ranks = 2 + static_cast<int>(seed % 4);
    net_job job(net_job::net_attr(ranks, seed));
    lci::network::sim::random_source random(seed);
    std::vector<std::vector<std::byte>> buffers;
    std::multiset<std::vector<std::byte>> expected;
    std::multiset<void*> expected_completions;
    for (size_t i = 0; i < 200; ++i) {
      const size_t size = random.up_to(200);
      buffers.push_back(bytes(size, random.next()));
      const int from = static_cast<int>(random.up_to(ranks - 1));
      const int to = static_cast<int>(random.up_to(ranks - 1));
      const bool inject = size <= 64 && random.percent(50);
      net_op op = send_op(to, buffers[i].data(), size / 2, id(i), inject);
      op.segments[op.n_segments++] = {buffers[i].data() + size / 2, size - size / 2};
      const errorcode_t result = job.post(from, op);
      REQUIRE((result == errorcode_t::done || (result == errorcode_t::posted && !inject)));
      if (result == errorcode_t::posted) expected_completions.insert(id(i));
      expected.insert(buffers[i]);
      // Inject: the buffer may be changed at once.
      if (inject) std::fill(buffers[i].begin(), buffers[i].end(), std::byte{0xee});
    }
    job.settle();
    std::multiset<std::vector<std::byte>> arrived;
    std::multiset<void*> completions;
    for (auto& n : job.nodes) {
      for (auto& m : n.seen.messages) arrived.insert(m.data);
      completions.insert(n.seen.completed.begin(), n.seen.completed.end());
      REQUIRE(n.device->flushed());
    }
    REQUIRE(arrived == expected);
    REQUIRE(completions == expected_completions);
    const auto stats = job.world->stats();
    REQUIRE(stats.sent == 200);
    REQUIRE(stats.delivered == 200);
    REQUIRE(stats.in_flight + stats.lost == 0);
    REQUIRE(job.world->violations().empty());
  }
}

TEST_CASE("a message is delivered with its sender's rank") {
  net_job job(net_job::net_attr(3, 5));
  for (int from = 0; from < 3; ++from) job.post(from, send_op(1, &from, sizeof from, nullptr, true));
  job.settle();
  REQUIRE(job.seen(1).messages.size() == 3);
  for (auto& m : job.seen(1).messages) {
    int from = -1;
    REQUIRE(m.data.size() == sizeof from);
    std::memcpy(&from, m.data.data(), sizeof from);
    REQUIRE(m.peer == from);
  }
}

TEST_CASE("a buffer that is changed before its send completes changes the message") {
  int spoiled = 0, intact = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    net_job job(net_job::net_attr(2, seed));
    auto buffer = bytes(100, seed);
    const auto original = buffer;
    const errorcode_t result = job.post(0, send_op(1, buffer.data(), buffer.size(), id(0)));
    std::fill(buffer.begin(), buffer.end(), std::byte{0});
    job.settle();
    REQUIRE(job.seen(1).messages.size() == 1);
    (job.seen(1).messages[0].data == original ? intact : spoiled) += 1;
    if (result == errorcode_t::done) REQUIRE(job.seen(1).messages[0].data == original);
  }
  REQUIRE(spoiled > 25);
  REQUIRE(intact > 0);  // some posts copy the message and return `done`
}

TEST_CASE("a buffer may be changed as soon as its send has completed, delivered or not") {
  int completed_first = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    net_job job(net_job::net_attr(2, seed));
    auto buffer = bytes(100, seed);
    const auto original = buffer;
    if (job.post(0, send_op(1, buffer.data(), buffer.size(), id(0))) == errorcode_t::posted) {
      while (job.seen(0).completed.empty()) job.poll_all();
      completed_first += job.seen(1).messages.empty();
    }
    std::fill(buffer.begin(), buffer.end(), std::byte{0});
    job.settle();
    REQUIRE(job.seen(1).messages.size() == 1);
    REQUIRE(job.seen(1).messages[0].data == original);
  }
  REQUIRE(completed_first > 5);
}

TEST_CASE("sends of one rank to another may overtake each other, and limits.ordered is false") {
  net_job job(net_job::net_attr(2, 3));
  REQUIRE_FALSE(job.device(0).get_limits().ordered);
  for (int i = 0; i < 50; ++i) job.post(0, send_op(1, &i, sizeof i, nullptr, true));
  job.settle();
  std::vector<int> order;
  for (auto& m : job.seen(1).messages) {
    order.push_back(0);
    std::memcpy(&order.back(), m.data.data(), sizeof(int));
  }
  REQUIRE(order.size() == 50);
  REQUIRE_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("posts are temporarily refused with both retry codes, without any effect") {
  auto attr = net_job::net_attr(2, 7);
  attr.sim_retry_percent = 50;
  net_job job(attr);
  int lock = 0, memory = 0, accepted = 0;
  for (int i = 0; i < 60; ++i) {
    const errorcode_t e = job.device(0).post(send_op(1, &i, sizeof i, nullptr, true));
    lock += e == errorcode_t::retry_lock;
    memory += e == errorcode_t::retry_nomem;
    accepted += e == errorcode_t::done;
  }
  REQUIRE(lock > 5);
  REQUIRE(memory > 5);
  REQUIRE(lock + memory + accepted == 60);
  job.settle();
  REQUIRE(job.seen(1).messages.size() == static_cast<size_t>(accepted));
}

TEST_CASE("the send queue to a peer is bounded, and does not block other peers") {
  auto attr = net_job::calm(3);
  auto device_attr = net_job::device_attr();
  device_attr.net_max_sends = 5;
  net_job job(attr, 4096, device_attr);
  int value = 0;
  for (int i = 0; i < 5; ++i) REQUIRE(job.device(0).post(send_op(1, &value, 4, nullptr, true)) == errorcode_t::done);
  REQUIRE(job.device(0).post(send_op(1, &value, 4, nullptr, true)) == errorcode_t::retry_nomem);
  REQUIRE(job.device(0).post(send_op(2, &value, 4, nullptr, true)) == errorcode_t::done);
  job.poll_all(5);
  REQUIRE(job.device(0).post(send_op(1, &value, 4, nullptr, true)) == errorcode_t::done);
}

TEST_CASE("a poll reports no more events than requested, and no more than sim_max_poll") {
  auto attr = net_job::calm(2);
  attr.sim_max_poll = GENERATE(0, 3);
  net_job job(attr);
  int value = 0;
  for (int i = 0; i < 40; ++i) job.post(0, send_op(1, &value, 4, nullptr, true));
  size_t largest = 0;
  for (int i = 0; i < 50; ++i) {
    const size_t before = job.seen(1).messages.size();
    const int n = job.device(1).poll(job.seen(1), 7);
    REQUIRE(n == static_cast<int>(job.seen(1).messages.size() - before));
    largest = std::max<size_t>(largest, n);
  }
  REQUIRE(largest == (attr.sim_max_poll == 0 ? 7 : 3));
  REQUIRE(job.seen(1).messages.size() == 40);
}

TEST_CASE("a sink that throws loses no event") {
  struct thrower final : lci::network::event_sink {
    void on_recv(int, const std::byte*, size_t, void*) override { ++seen, throw seen; }
    void on_complete(void*) override {}
    void on_remote_write(int, uint32_t) override {}
    void on_peer_failure(int, const char*) override {}
    void on_operation_failure(void*, int) override {}
    int seen = 0;
  } sink;
  net_job job(net_job::calm(2));
  for (int i = 0; i < 10; ++i) job.post(0, send_op(1, &i, 4, nullptr, true));
  for (int i = 1; i <= 10; ++i) REQUIRE_THROWS_AS(job.device(1).poll(sink, 32), int);
  REQUIRE(sink.seen == 10);
  REQUIRE(job.device(1).poll(sink, 32) == 0);
}

TEST_CASE("a sink may post; its messages to itself are delivered in order with puts") {
  struct replier final : lci::network::event_sink {
    void on_recv(int, const std::byte* data, size_t size, void*) override {
      last.assign(data, data + size);
      if (posted) {
        put_landed = target[7] == std::byte{7};
        return;
      }
      posted = true;
      net_op put = memory_op(verb::put, 0, source.data(), 8, target.data(), key, nullptr);
      put.inject = true;
      device->post(put);
      device->post(send_op(0, source.data(), 8, nullptr, true));
    }
    void on_complete(void*) override {}
    void on_remote_write(int, uint32_t) override {}
    void on_peer_failure(int, const char*) override {}
    void on_operation_failure(void*, int) override {}
    lci::network::device* device;
    uint64_t key;
    bool posted = false, put_landed = false;
    std::vector<std::byte> last, source = std::vector<std::byte>(8, std::byte{7}), target = std::vector<std::byte>(8);
  } sink;
  net_job job(net_job::calm(1));
  sink.device = &job.device(0);
  sink.key = job.device(0).register_memory(sink.target.data(), 8).rkey;
  job.post(0, send_op(0, "x", 1, nullptr, true));
  for (int i = 0; i < 5; ++i) job.device(0).poll(sink, 32);
  REQUIRE(sink.last == sink.source);
  REQUIRE(sink.put_landed);
}

TEST_CASE("messages wait in the network for preposted receive buffers") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto attr = net_job::net_attr(2, seed);
    attr.sim_preposted_recvs = true;
    net_job job(attr);
    REQUIRE(job.device(1).get_limits().receive_buffers == 16);
    const auto data = bytes(300, seed);
    for (size_t i = 0; i < 6; ++i) job.post(0, send_op(1, data.data(), data.size(), id(i)));
    job.settle();
    REQUIRE(job.seen(1).messages.empty());
    std::vector<std::vector<std::byte>> buffers(6, std::vector<std::byte>(300));
    for (size_t i = 0; i < 6; ++i) {
      const auto key = job.device(1).register_memory(buffers[i].data(), 300);
      while (job.device(1).post_recv({buffers[i].data(), 300, key.lkey}, id(i)) != errorcode_t::done) {
      }
      job.settle();
      REQUIRE(job.seen(1).messages.size() == i + 1);
      REQUIRE(job.seen(1).messages[i].buffer == id(i));
      REQUIRE(job.seen(1).messages[i].data == data);
      REQUIRE(buffers[i] == data);
    }
    REQUIRE(job.world->violations().empty());
  }
}

TEST_CASE("more receive buffers than promised are refused, and one that is too small is recorded") {
  auto attr = net_job::calm(2);
  attr.sim_preposted_recvs = true;
  net_job job(attr);
  char small[10] = {};
  const auto key = job.device(1).register_memory(small, 10);
  for (int i = 0; i < 16; ++i) REQUIRE(job.device(1).post_recv({small, 9, key.lkey}, nullptr) == errorcode_t::done);
  REQUIRE(job.device(1).post_recv({small, 9, key.lkey}, nullptr) == errorcode_t::retry_nomem);
  job.post(0, send_op(1, "0123456789", 10, nullptr, true));
  job.settle();
  REQUIRE(std::string(small) == "012345678");
  REQUIRE(job.world->violations().size() == 1);
}

TEST_CASE("an operation to a device that does not exist yet is refused, to one that was freed fails") {
  net_job job(net_job::calm(2));
  auto second = job.nodes[0].context->create_device(net_job::device_attr(), 4096);
  REQUIRE(second->post(send_op(1, "x", 1, nullptr, true)) == errorcode_t::retry_nomem);
  auto partner = job.nodes[1].context->create_device(net_job::device_attr(), 4096);
  REQUIRE(second->post(send_op(1, "x", 1, nullptr, true)) == errorcode_t::done);
  recorder seen;
  REQUIRE(partner->poll(seen, 32) == 1);
  REQUIRE(job.device(1).poll(seen, 32) == 0);
  partner.reset();
  REQUIRE(second->post(send_op(1, "x", 1, nullptr, true)) == errorcode_t::fatal);
}

TEST_CASE("messages of a flushed device arrive even if the device is freed") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    net_job job(net_job::net_attr(2, seed));
    auto data = bytes(100, seed);
    for (size_t i = 0; i < 10; ++i) job.post(0, send_op(1, data.data(), 100, id(i), false));
    int rounds = 0;
    while (!job.device(0).flushed()) {
      job.device(0).poll(job.seen(0), 32);
      REQUIRE(++rounds < 10000);
    }
    job.nodes[0].device.reset();
    std::fill(data.begin(), data.end(), std::byte{0});
    job.settle();
    REQUIRE(job.seen(1).messages.size() == 10);
    for (auto& m : job.seen(1).messages) REQUIRE(m.data == bytes(100, seed));
  }
}

TEST_CASE("messages that a device has not sent are dropped with it") {
  net_job job(net_job::calm(2));
  job.post(0, send_op(1, "x", 1, nullptr, true));
  REQUIRE(job.device(0).flushed());
  auto attr = net_job::net_attr(2, 4);
  attr.sim_max_delay = 1000;
  net_job slow(attr);
  for (size_t i = 0; i < 10; ++i) slow.post(0, send_op(1, "x", 1, id(i)));
  REQUIRE_FALSE(slow.device(0).flushed());
  slow.nodes[0].device.reset();
  slow.settle();
  REQUIRE(slow.world->stats().lost > 0);
  REQUIRE(slow.world->stats().in_flight == 0);
}

TEST_CASE("posts that violate the contract are recorded") {
  net_job job(net_job::calm(2), 256);
  std::vector<char> data(300);
  const auto violations_after = [&](const net_op& op) {
    REQUIRE(job.device(0).post(op) == errorcode_t::fatal);
    return job.world->violations().size();
  };
  REQUIRE(violations_after(send_op(1, data.data(), 257, nullptr)) == 1);
  REQUIRE(violations_after(send_op(1, data.data(), 65, nullptr, true)) == 2);
  REQUIRE(violations_after(send_op(2, data.data(), 1, nullptr)) == 3);
  net_op get = memory_op(verb::get, 1, data.data(), 1, data.data(), 1, nullptr);
  get.inject = true;
  REQUIRE(violations_after(get) == 4);
  net_op imm = send_op(1, data.data(), 1, nullptr);
  imm.has_imm = true;
  REQUIRE(violations_after(imm) == 5);
  net_op key = send_op(1, data.data(), 1, nullptr);
  key.segments[0].lkey = 12345;
  REQUIRE(violations_after(key) == 6);
  job.settle();
  REQUIRE(job.seen(1).messages.empty());
}

namespace {
std::vector<std::string> history(uint64_t seed) {
  net_job job(net_job::net_attr(3, seed));
  std::vector<std::string> h;
  const auto data = bytes(64, 1);
  for (size_t i = 0; i < 60; ++i) {
    const int from = static_cast<int>(i % 3);
    h.push_back(std::to_string(static_cast<int>(job.post(from, send_op((from + 1) % 3, data.data(), i, id(i))))));
  }
  job.settle();
  for (auto& n : job.nodes) {
    for (auto& m : n.seen.messages) h.push_back("m" + std::to_string(m.data.size()));
    for (void* c : n.seen.completed) h.push_back("c" + std::to_string((uintptr_t)c));
  }
  h.push_back(std::to_string(job.world->stats().retries));
  return h;
}
}  // namespace

TEST_CASE("a seed determines what happens") {
  REQUIRE(history(11) == history(11));
  REQUIRE(history(11) != history(12));
}

TEST_CASE("contexts join the world that is not full yet, or start a new one") {
  const auto fabric = lci::network::sim_fabric();
  REQUIRE(fabric.look({}).why_not.empty());
  const auto attr = net_job::net_attr(2, 1);
  auto a = fabric.own_exchange(attr);
  const auto first = lci::network::sim::world::current();
  auto other = attr;
  other.sim_ranks = 3;
  REQUIRE_THROWS_AS(fabric.own_exchange(other), lci::invalid_argument_error);
  auto b = fabric.own_exchange(attr);
  REQUIRE(lci::network::sim::world::current() == first);
  REQUIRE(a->rank() == 0);
  REQUIRE(b->rank() == 1);
  REQUIRE(b->size() == 2);
  auto c = fabric.own_exchange(other);
  REQUIRE(c->rank() == 0);
  REQUIRE(c->size() == 3);
  REQUIRE(lci::network::sim::world::current() != first);
}

TEST_CASE("time passes while a rank waits") {
  auto attr = net_job::calm(2);
  attr.sim_max_delay = 50;
  net_job job(attr);
  job.post(0, send_op(1, "x", 1, nullptr, true));
  for (int i = 0; i < 200; ++i) job.device(1).wait(1000);
  REQUIRE(job.device(1).poll(job.seen(1), 32) == 1);
}

TEST_CASE("threads may share devices") {
  auto attr = net_job::net_attr(2, 9);
  net_job job(attr);
  constexpr int per_thread = 500;
  std::array<recorder, 4> seen;
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const int rank = t % 2;
      int sent = 0;
      while (sent < per_thread || arrived.load(std::memory_order_relaxed) < 4 * per_thread) {
        if (sent < per_thread && job.device(rank).post(send_op(1 - rank, &sent, 4, nullptr, true)) == errorcode_t::done)
          ++sent;
        const size_t before = seen[t].messages.size();
        job.device(rank).poll(seen[t], 8);
        arrived.fetch_add(static_cast<int>(seen[t].messages.size() - before), std::memory_order_relaxed);
        std::this_thread::yield();
      }
    });
  for (auto& t : threads) t.join();
  size_t total = 0;
  for (auto& s : seen) total += s.messages.size();
  REQUIRE(total == 4 * per_thread);
  REQUIRE(job.world->stats().in_flight == 0);
}
