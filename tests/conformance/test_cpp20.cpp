// The C++20 interface: owners, typed buffers and values.
#include <array>
#include <functional>
#include <lci/cpp20.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "tests/conformance/harness.hpp"

using namespace conf;

namespace {

struct point {
  int32_t x;
  double y;
  friend bool operator==(const point&, const point&) = default;
};

lci::status_t status_of(void* bytes, size_t size) {
  lci::status_t s(lci::errorcode_t::done);
  s.buffer = bytes;
  s.size = size;
  s.rank = 3;
  return s;
}

}  // namespace

TEST_CASE("an owner frees its resource once, also after moves", "[cpp20]") {
  on_ranks([](rank_env& env) {
    struct counted : lci::comp_impl_t {
      explicit counted(int& n) : alive(n) { ++alive; }
      ~counted() override { --alive; }
      void signal(lci::status_t) override {}
      int& alive;
    };
    int alive = 0;
    {
      lci::unique_handle<lci::comp_t> nothing;
      EXPECT(nothing.is_empty());
      lci::unique_handle first(lci::comp_t(new counted(alive)));
      lci::unique_handle second(std::move(first));
      EXPECT(first.is_empty() && !second.is_empty());
      nothing = std::move(second);
      EXPECT_EQ(alive, 1);
      nothing = lci::unique_handle(lci::comp_t(new counted(alive)));
      EXPECT_EQ(alive, 1);
      nothing.reset();
      EXPECT(nothing.is_empty());
      EXPECT_EQ(alive, 0);
      nothing = lci::unique_handle(lci::comp_t(new counted(alive)));
      lci::comp_t mine = nothing.release();
      EXPECT(nothing.is_empty());
      EXPECT_EQ(alive, 1);
      lci::free_comp(&mine);
      nothing = lci::unique_handle(lci::comp_t(new counted(alive)));
    }
    EXPECT_EQ(alive, 0);
  });
}

TEST_CASE("every kind of resource has an owner, which converts to its handle", "[cpp20]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    const size_t size = 4096;
    std::vector<char> memory(size);
    lci::unique_handle context(lci::alloc_net_context_x().runtime(rt)());
    lci::unique_handle pool(lci::alloc_packet_pool_x().npackets(64).runtime(rt)());
    {
      lci::unique_handle device(lci::alloc_device_x().net_context(context).packet_pool(pool).runtime(rt)());
      lci::unique_handle endpoint(lci::alloc_endpoint_x().device(device)());
      lci::unique_handle engine(lci::alloc_matching_engine_x().runtime(rt)());
      lci::unique_handle mr(lci::register_memory_x(lci::buffer(memory)).device(device)());
      lci::unique_handle sync(lci::alloc_sync());
      lci::unique_shared shared(lci::alloc_shared_x(size).device(device)());
      EXPECT_EQ(lci::get_rmr(shared).size(), size);
      lci::unique_handle<lci::symmetric_t> symmetric(lci::alloc_symmetric_x(size).device(device)(), {rt});
      EXPECT_EQ(lci::get_rmr(lci::get_symmetric_mr(symmetric)).size(), size);
      EXPECT_EQ(lci::get_rmr(mr).size(), size);
      EXPECT(device->get_attr_uid() >= 0);
      // A collective call may return before its last message has been sent.
      env.until(device, "the device to be drained", [&] { return lci::test_drained_x().device(device)().is_done(); });
      env.barrier();
    }
    // The device is freed, so the pool and the context can be freed; that happens at the end of the scope.
    lci::unique_handle queue(lci::alloc_cq());
    lci::rcomp_t number = 0;
    {
      lci::unique_rcomp registered(lci::register_rcomp_x(queue).runtime(rt)(), {rt});
      number = registered;
      EXPECT(number != 0);
    }
    EXPECT_INVALID(lci::deregister_rcomp_x(number).runtime(rt)(), "deregister_rcomp", "rcomp");
    size_t taken = 0;
    {
      std::vector<lci::unique_packet> packets;
      while (void* p = lci::get_upacket_x().packet_pool(pool)()) packets.push_back(lci::unique_packet(p, {rt}));
      taken = packets.size();
      EXPECT(taken > 0);
    }
    std::vector<lci::unique_packet> again;
    while (void* p = lci::get_upacket_x().packet_pool(pool)()) again.push_back(lci::unique_packet(p, {rt}));
    EXPECT_EQ(again.size(), taken);
  });
}

TEST_CASE("a resource that can't be freed remains owned, and reset() throws the reason", "[cpp20]") {
  on_ranks([](rank_env& env) {
    lci::unique_handle pool(lci::alloc_packet_pool_x().runtime(env.rt)());
    {
      lci::unique_handle device(lci::alloc_device_x().packet_pool(pool).runtime(env.rt)());
      EXPECT_INVALID(pool.reset(), "free_packet_pool", "registered");
      EXPECT(!pool.is_empty());
      env.barrier();
    }
    pool.reset();
    EXPECT(pool.is_empty());
  });
}

TEST_CASE("ranges and objects convert to buffers of their bytes", "[cpp20]") {
  on_ranks([](rank_env& env) {
    std::vector<int> numbers(10);
    const auto whole = lci::buffer(numbers);
    static_assert(std::is_same_v<decltype(whole), const lci::buffer_t>);
    EXPECT(whole.base == numbers.data());
    EXPECT_EQ(whole.size, 10 * sizeof(int));
    const auto part = lci::buffer(std::span(numbers).subspan(2, 3));
    EXPECT(part.base == numbers.data() + 2);
    EXPECT_EQ(part.size, 3 * sizeof(int));
    const std::array<double, 4> fixed{};
    const auto read = lci::buffer(fixed);
    static_assert(std::is_same_v<decltype(read), const lci::const_buffer_t>);
    EXPECT_EQ(read.size, sizeof fixed);
    point p{};
    EXPECT(lci::buffer(p).base == &p);
    EXPECT_EQ(lci::buffer(p).size, sizeof p);
    int plain[3];
    EXPECT_EQ(lci::buffer(plain).size, sizeof plain);
    EXPECT_EQ(lci::buffer(std::span<int>()).size, size_t{0});
  });
}

TEST_CASE("a message can be read as values only if it contains them", "[cpp20]") {
  on_ranks([](rank_env& env) {
    alignas(16) std::byte memory[4 * sizeof(point) + 1];
    const point in{7, 0.5};
    std::memcpy(memory + 1, &in, sizeof in);
    EXPECT(lci::value<point>(status_of(memory + 1, sizeof in)) == in);  // at any address
    const auto fails = [&](auto&& read, size_t size, size_t expected) {
      try {
        read();
        env.fail(__FILE__, __LINE__, "does not throw");
      } catch (const lci::payload_error& e) {
        EXPECT_EQ(e.size(), size);
        EXPECT_EQ(e.expected(), expected);
        EXPECT(std::string(e.what()).find("rank 3") != std::string::npos);
      }
    };
    fails([&] { lci::value<point>(status_of(memory, sizeof in - 1)); }, sizeof in - 1, sizeof in);
    fails([&] { lci::value<point>(status_of(memory, sizeof in + 1)); }, sizeof in + 1, sizeof in);
    fails([&] { lci::value<point>(status_of(nullptr, 0)); }, 0, sizeof in);

    std::memcpy(memory, &in, sizeof in);
    std::memcpy(memory + sizeof in, &in, sizeof in);
    const auto both = lci::values<const point>(status_of(memory, 2 * sizeof in));
    EXPECT_EQ(both.size(), size_t{2});
    EXPECT(both[1] == in);
    EXPECT(lci::values<point>(status_of(nullptr, 0)).empty());
    fails([&] { lci::values<point>(status_of(memory, sizeof in + 2)); }, sizeof in + 2, sizeof in);
    fails([&] { lci::values<point>(status_of(memory + 1, sizeof in)); }, sizeof in, alignof(point));
    lci::status_t dead = status_of(memory, sizeof in);
    dead.error = lci::errorcode_t::fatal;
    fails([&] { lci::value<point>(dead); }, sizeof in, sizeof in);
  });
}

TEST_CASE("functors take typed buffers like pointer and size", "[cpp20]") {
  const size_t n = GENERATE(size_t{1}, size_t{100}, size_t{100000});
  INFO("numbers " << n);
  on_ranks([n](rank_env& env) {
    std::vector<uint64_t> out(n), in(n);
    std::iota(out.begin(), out.end(), static_cast<uint64_t>(env.rank));
    lci::unique_handle received(lci::alloc_sync());
    lci::unique_handle sent(lci::alloc_sync());
    lci::status_t s =
        env.post([&] { return lci::post_recv_x(env.left(), lci::buffer(in), 5, received).runtime(env.rt)(); });
    const lci::status_t o = env.post(
        [&] { return lci::post_send_x(env.right(), lci::buffer(std::as_const(out)), 5, sent).runtime(env.rt)(); });
    if (s.is_posted()) env.until("the message", [&] { return lci::sync_test(received, &s); });
    EXPECT_EQ(s.size, n * sizeof(uint64_t));
    const auto got = lci::values<const uint64_t>(s);
    EXPECT_EQ(got.size(), n);
    EXPECT_EQ(got.front(), static_cast<uint64_t>(env.left()));
    EXPECT_EQ(got.back(), static_cast<uint64_t>(env.left()) + n - 1);
    if (o.is_posted()) env.until("the send", [&] { return lci::sync_test(sent, nullptr); });
    env.barrier();
  });
}

TEST_CASE("function objects are operations of reductions", "[cpp20]") {
  struct larger {
    int64_t operator()(int64_t a, int64_t b) const { return a > b ? a : b; }
  };
  on_ranks([](rank_env& env) {
    const double mine[2] = {1.5, env.rank + 1.0};
    double sum[2] = {};
    lci::allreduce_x(mine, sum, 2, sizeof(double), lci::reduction<double, std::plus<>>).runtime(env.rt)();
    EXPECT_EQ(sum[0], 1.5 * env.size);
    EXPECT_EQ(sum[1], env.size * (env.size + 1) / 2.0);
    const int64_t rank = env.rank;
    int64_t most = -1;
    lci::allreduce_x(&rank, &most, 1, sizeof rank, lci::reduction<int64_t, larger>).runtime(env.rt)();
    EXPECT_EQ(most, int64_t{env.size - 1});
  });
}
