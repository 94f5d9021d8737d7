// Raw sends and receives: every message fills one buffer and completes at both sides, also with other
// traffic on the same device.
#include <chrono>
#include <set>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/raw_port.hpp"

using namespace conf;
using lci::net_opcode_t;

TEST_CASE("a raw message of any size fills a posted buffer", "[net]") {
  on_ranks(
      [](rank_env& env) {
        raw_port port(env);
        int in_context = 0, out_context = 0;
        uint32_t imm = 0xfffffff0u;
        for (const size_t size : interesting_sizes(env)) {
          guarded in(size + 10);
          const auto posted = port.post([&] {
            return lci::net_post_recv_x(in.data(), in.size(), lci::mr_t()).user_context(&in_context).runtime(env.rt)();
          });
          EXPECT(posted.is_posted());
          env.barrier();
          ++imm;
          const auto out = message(size, size + static_cast<uint64_t>(env.rank));
          const auto sent = port.post([&] {
            return lci::net_post_send_x(env.right(), out.data(), size, lci::mr_t())
                .imm_data(imm)
                .user_context(&out_context)
                .runtime(env.rt)();
          });
          EXPECT(sent.is_posted());
          const auto s = port.next(net_opcode_t::SEND);
          EXPECT_EQ(s.rank, env.right());
          EXPECT(s.user_context == &out_context);
          const auto r = port.next(net_opcode_t::RECV);
          EXPECT_EQ(r.rank, env.left());
          EXPECT_EQ(r.length, size);
          EXPECT_EQ(r.imm_data, imm);
          EXPECT(r.user_context == &in_context);
          EXPECT(matches(in.data(), size, size + static_cast<uint64_t>(env.left())));
          EXPECT(in.intact(size));
        }
        EXPECT(port.quiet());
      },
      with_small_chunks);
}

TEST_CASE("the buffer of a raw send of a copy may be changed after the post", "[net]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    const size_t largest = lci::get_max_bcopy_size_x().runtime(env.rt)();
    for (const size_t size : {size_t{0}, size_t{1}, size_t{48}, size_t{64}, size_t{1000}, size_t{3000}, largest}) {
      constexpr int n = 20;
      std::vector<std::vector<char>> in(n, std::vector<char>(size));
      for (auto& buffer : in)
        port.post([&] {
          return lci::net_post_recv_x(buffer.data(), size, lci::mr_t()).user_context(&buffer).runtime(env.rt)();
        });
      for (uint32_t i = 0; i < n; ++i) {
        auto out = message(size, i);
        const auto sent = port.post(
            [&] { return lci::net_post_sends_x(env.right(), out.data(), size).imm_data(i).runtime(env.rt)(); });
        EXPECT(sent.is_done());
        out.assign(size, '\x77');
      }
      std::set<uint32_t> numbers;
      std::set<void*> buffers;
      for (int i = 0; i < n; ++i) {
        const auto r = port.next(net_opcode_t::RECV);
        EXPECT_EQ(r.length, size);
        numbers.insert(r.imm_data);
        buffers.insert(r.user_context);
        EXPECT(matches(static_cast<std::vector<char>*>(r.user_context)->data(), size, r.imm_data));
      }
      EXPECT_EQ(numbers.size(), static_cast<size_t>(n));
      EXPECT_EQ(buffers.size(), static_cast<size_t>(n));
      EXPECT(port.quiet());  // a copy has no completion at its sender
      env.barrier();
    }
  });
}

TEST_CASE("raw messages fill buffers in the order of their posts", "[net]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    constexpr int n = 10;
    int in[n] = {};
    for (int& buffer : in)
      port.post([&] {
        return lci::net_post_recv_x(&buffer, sizeof buffer, lci::mr_t()).user_context(&buffer).runtime(env.rt)();
      });
    for (int i = 0; i < n; ++i) {
      port.post([&] { return lci::net_post_sends_x(env.right(), &i, sizeof i).runtime(env.rt)(); });
      EXPECT(port.next(net_opcode_t::RECV).user_context == &in[i]);
      EXPECT_EQ(in[i], i);
      env.barrier();  // one at a time: not every network keeps messages in order
    }
  });
}

TEST_CASE("a raw message waits for its buffer, also if LCI's progress receives it", "[net]") {
  const size_t size = GENERATE(size_t{8}, size_t{150'000});
  INFO(size << " bytes");
  on_ranks([size](rank_env& env) {
    raw_port port(env);
    const auto out = message(size, static_cast<uint64_t>(env.rank));
    port.post(
        [&] { return lci::net_post_send_x(env.right(), out.data(), size, lci::mr_t()).imm_data(5).runtime(env.rt)(); });
    env.barrier();
    for (int i = 0; i < 100; ++i) env.progress();
    std::vector<char> in(size);
    port.post([&] { return lci::net_post_recv_x(in.data(), size, lci::mr_t()).user_context(&in).runtime(env.rt)(); });
    const auto r = port.next(net_opcode_t::RECV);
    EXPECT(r.user_context == &in);
    EXPECT_EQ(r.imm_data, 5u);
    EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.left())));
    EXPECT_EQ(port.next(net_opcode_t::SEND).rank, env.right());
    env.barrier();
  });
}

TEST_CASE("raw polls alone handle all messages of the device", "[net]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::handler, 1);
    raw_port port(env);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    int number = 0, raw_number = 0;
    auto received = lci::post_recv_x(env.left(), &number, sizeof number, 1, sync).runtime(env.rt)();
    port.post([&] { return lci::net_post_recv_x(&raw_number, sizeof raw_number, lci::mr_t()).runtime(env.rt)(); });
    const auto rcomps = env.all_gather(box.rcomp());
    // From here on no other progress is made.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto poll_until = [&](auto done) {
      while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        port.poll();
      }
      return true;
    };
    const int mine = env.rank + 10, raw_mine = env.rank + 20;
    const auto rcomp = rcomps[static_cast<size_t>(env.right())];
    EXPECT(poll_until([&] {
      return lci::post_am_x(env.right(), &mine, sizeof mine, lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)().is_done();
    }));
    EXPECT(poll_until([&] {
      return lci::post_send_x(env.right(), &mine, sizeof mine, 1, lci::COMP_NULL_RETRY).runtime(env.rt)().is_done();
    }));
    EXPECT(poll_until(
        [&] { return lci::net_post_sends_x(env.right(), &raw_mine, sizeof raw_mine).runtime(env.rt)().is_done(); }));
    EXPECT(poll_until([&] { return !port.polled.empty(); }));
    EXPECT_EQ(raw_number, env.left() + 20);
    EXPECT(received.is_done() || poll_until([&] { return lci::sync_test_x(sync, &received).runtime(env.rt)(); }));
    EXPECT_EQ(number, env.left() + 10);
    EXPECT_EQ(box.collect().size(), size_t{1});
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("a poll returns no more raw statuses than requested", "[net]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    constexpr size_t n = 9;
    int out = 0;
    std::vector<int> in(n);
    for (size_t i = 0; i < n; ++i) {
      port.post([&] { return lci::net_post_recv_x(&in[i], sizeof in[i], lci::mr_t()).runtime(env.rt)(); });
      port.post([&] { return lci::net_post_sends_x(env.right(), &out, sizeof out).runtime(env.rt)(); });
    }
    port.poll(0);
    EXPECT(port.polled.empty());
    env.until("all messages", [&] {
      const size_t before = port.polled.size();
      port.poll(2);
      EXPECT(port.polled.size() <= before + 2);
      return port.polled.size() == n;
    });
    EXPECT(std::all_of(port.polled.begin(), port.polled.end(),
                       [](const auto& s) { return s.opcode == net_opcode_t::RECV; }));
  });
}

TEST_CASE("a raw message that is longer than its buffer is truncated, as its status says", "[net]") {
  const size_t size = GENERATE(size_t{40}, size_t{150'000});
  INFO(size << " bytes");
  on_ranks([size](rank_env& env) {
    raw_port port(env);
    guarded in(20);
    const auto out = message(size, static_cast<uint64_t>(env.rank));
    port.post([&] { return lci::net_post_recv_x(in.data(), 20, lci::mr_t()).user_context(&in).runtime(env.rt)(); });
    port.post([&] { return lci::net_post_send_x(env.right(), out.data(), size, lci::mr_t()).runtime(env.rt)(); });
    const auto r = port.next(net_opcode_t::ERROR);
    EXPECT_EQ(r.rank, env.left());
    EXPECT_EQ(r.length, size_t{20});
    EXPECT(r.user_context == &in);
    EXPECT(matches(in.data(), 20, static_cast<uint64_t>(env.left())));
    EXPECT(in.intact(20));
    EXPECT_EQ(port.next(net_opcode_t::SEND).rank, env.right());
  });
}

TEST_CASE("raw messages of one device do not fill buffers of another", "[net]") {
  on_ranks([](rank_env& env) {
    const auto devices = env.devices(2, false);
    raw_port first(env, devices[0]), second(env, devices[1]);
    int in[2] = {-1, -1};
    const int out[2] = {env.rank, env.rank + 100};
    raw_port* ports[2] = {&first, &second};
    for (int i = 0; i < 2; ++i)
      ports[i]->post([&] {
        return lci::net_post_recv_x(&in[i], sizeof in[i], lci::mr_t())
            .runtime(env.rt)
            .device(devices[static_cast<size_t>(i)])();
      });
    for (int i = 1; i >= 0; --i) {
      ports[i]->post([&] {
        return lci::net_post_sends_x(env.right(), &out[i], sizeof out[i])
            .runtime(env.rt)
            .device(devices[static_cast<size_t>(i)])();
      });
      EXPECT_EQ(ports[i]->next(net_opcode_t::RECV).rank, env.left());
    }
    EXPECT_EQ(in[0], env.left());
    EXPECT_EQ(in[1], env.left() + 100);
    env.barrier();
  });
}

TEST_CASE("a packet that is sent raw remains its owner's", "[net]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    void* const packet = lci::get_upacket_x().runtime(env.rt)();
    const size_t size = lci::get_max_bcopy_size_x().runtime(env.rt)();
    fill(packet, size, static_cast<uint64_t>(env.rank));
    for (const size_t sent : {size_t{8}, size}) {
      std::vector<char> in(size);
      port.post([&] { return lci::net_post_recv_x(in.data(), size, lci::mr_t()).runtime(env.rt)(); });
      port.post([&] { return lci::net_post_send_x(env.right(), packet, sent, lci::mr_t()).runtime(env.rt)(); });
      EXPECT_EQ(port.next(net_opcode_t::RECV).length, sent);
      EXPECT_EQ(port.next(net_opcode_t::SEND).length, sent);
      void* const other = lci::get_upacket_x().runtime(env.rt)();
      EXPECT(other != packet);
      lci::put_upacket_x(other).runtime(env.rt)();
      env.barrier();
    }
    lci::put_upacket_x(packet).runtime(env.rt)();
  });
}

TEST_CASE("raw operations of several threads complete exactly once", "[net][threads]") {
  on_ranks([](rank_env& env) {
    constexpr int threads = 4, each = 200, total = threads * each;
    std::vector<uint64_t> in(total);
    std::vector<std::atomic<int>> sent(total), received(total);
    std::atomic<int> ends{0};
    std::atomic<bool> good{true};
    env.parallel(threads, [&](int t) {
      raw_port port(env);
      const auto sort_out = [&] {
        port.poll();
        for (const auto& s : port.polled) {
          const auto number = static_cast<uint64_t*>(s.user_context) - in.data();
          if (s.opcode == net_opcode_t::SEND)
            ++sent[static_cast<size_t>(number)];
          else if (s.opcode == net_opcode_t::RECV && *static_cast<uint64_t*>(s.user_context) == s.imm_data)
            ++received[s.imm_data];
          else
            good = false;
          ++ends;
        }
        port.polled.clear();
      };
      for (int i = 0; i < each; ++i) {
        const auto number = static_cast<size_t>(t * each + i);
        const uint64_t out = number;
        port.post([&] {
          return lci::net_post_recv_x(&in[number], sizeof out, lci::mr_t()).user_context(&in[number]).runtime(env.rt)();
        });
        port.post([&] {
          return lci::net_post_send_x(env.right(), &out, sizeof out, lci::mr_t())
              .imm_data(static_cast<uint32_t>(number))
              .user_context(&in[number])
              .runtime(env.rt)();
        });
        sort_out();
      }
      env.until("all statuses", [&] {
        sort_out();
        return ends == 2 * total;
      });
    });
    EXPECT(good);
    const auto once = [](const std::atomic<int>& n) { return n == 1; };
    EXPECT(std::all_of(sent.begin(), sent.end(), once));
    EXPECT(std::all_of(received.begin(), received.end(), once));
  });
}
