// Active messages: delivered once and intact, to every kind of completion object.

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

/// Every rank sends one message of each size to its right neighbour and checks the messages of its
/// left neighbour.
void ring_of_messages(rank_env& env, inbox& box) {
  const auto rcomps = env.all_gather(box.rcomp());
  uint64_t round = 0;
  for (const size_t size : interesting_sizes(env)) {
    ++round;
    const auto out = message(size, round * 100 + static_cast<uint64_t>(env.rank));
    const auto sent = env.post([&] {
      return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomps[static_cast<size_t>(env.right())])
          .tag(round)
          .runtime(env.rt)();
    });
    EXPECT(sent.is_done());
    for (const auto& a : box.collect()) {
      if (!box.tells_status()) continue;
      EXPECT(a.status.is_done());
      EXPECT_EQ(a.status.rank, env.left());
      EXPECT_EQ(a.status.tag, round);
      EXPECT_EQ(a.status.size, size);
      EXPECT(matches(a.data.data(), a.data.size(), round * 100 + static_cast<uint64_t>(env.left())));
    }
    env.barrier();
    EXPECT(box.empty());
    env.barrier();  // no rank has begun the next round
  }
}

}  // namespace

TEST_CASE("an active message of any size arrives once and intact at any completion object", "[am]") {
  const auto kind = GENERATE(from_range(all_target_kinds()));
  INFO(name_of(kind));
  on_ranks(
      [kind](rank_env& env) {
        inbox box(env, kind, 1);
        ring_of_messages(env, box);
      },
      with_small_chunks);
}

TEST_CASE("an active message reaches every rank, its sender included", "[am]") {
  const auto kind = GENERATE(inbox_kind::in_place_handler, inbox_kind::queue_lcrq, inbox_kind::sync_many);
  INFO(name_of(kind));
  on_ranks([kind](rank_env& env) {
    inbox box(env, kind, env.size);
    const auto rcomps = env.all_gather(box.rcomp());
    for (const size_t size : {size_t{8}, size_t{3000}, size_t{50'000}}) {
      for (int to = 0; to < env.size; ++to) {
        const auto out = message(size, static_cast<uint64_t>(env.rank * 64 + to));
        env.post([&] {
          return lci::post_am_x(to, out.data(), size, lci::COMP_NULL, rcomps[static_cast<size_t>(to)])
              .runtime(env.rt)();
        });
      }
      std::vector<int> from(static_cast<size_t>(env.size), 0);
      for (const auto& a : box.collect()) {
        EXPECT_EQ(a.data.size(), size);
        if (a.status.rank < 0 || a.status.rank >= env.size) continue;
        ++from[static_cast<size_t>(a.status.rank)];
        EXPECT(matches(a.data.data(), a.data.size(), static_cast<uint64_t>(a.status.rank * 64 + env.rank)));
      }
      EXPECT(from == std::vector<int>(static_cast<size_t>(env.size), 1));
      env.barrier();
    }
  });
}

TEST_CASE("an active message completes at its sender through any object", "[am]") {
  const auto kind = GENERATE(from_range(all_inbox_kinds()));
  const bool allow_done = GENERATE(true, false);
  INFO(name_of(kind) << ", allow_done " << allow_done);
  on_ranks([kind, allow_done](rank_env& env) {
    inbox target(env, inbox_kind::counter, 1);
    inbox local(env, kind, 1, false);
    const auto rcomps = env.all_gather(target.rcomp());
    int cookie = 0;
    for (const size_t size : interesting_sizes(env)) {
      const auto out = message(size, size);
      const auto s = env.post([&] {
        return lci::post_am_x(env.right(), out.data(), size, local.comp(), rcomps[static_cast<size_t>(env.right())])
            .tag(5)
            .user_context(&cookie)
            .allow_done(allow_done)
            .runtime(env.rt)();
      });
      if (!allow_done) EXPECT(s.is_posted());
      lci::status_t final = s;
      if (s.is_posted()) final = local.collect().front().status;
      if (local.tells_status() || s.is_done()) {
        EXPECT(final.is_done());
        EXPECT_EQ(final.rank, env.right());
        EXPECT_EQ(final.size, size);
        EXPECT_EQ(final.tag, lci::tag_t{5});
        EXPECT(final.user_context == &cookie);
        EXPECT(final.buffer == out.data());
      }
      target.collect();
      env.barrier();
      EXPECT(local.empty());
    }
  });
}

TEST_CASE("tags of active messages keep all their bits up to max_tag", "[am]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomps = env.all_gather(box.rcomp());
    const lci::tag_t largest = env.rt.get_attr_max_tag();
    EXPECT(largest >= 0xffffffffu);
    for (const lci::tag_t tag : {lci::tag_t{0}, lci::tag_t{0x12345}, lci::tag_t{0xdeadbeef}, largest}) {
      for (const size_t size : {size_t{8}, size_t{40'000}}) {
        const auto out = message(size, tag);
        env.post([&] {
          return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomps[static_cast<size_t>(env.right())])
              .tag(tag)
              .runtime(env.rt)();
        });
        EXPECT_EQ(box.collect().front().status.tag, tag);
        env.barrier();
      }
    }
  });
}

TEST_CASE("messages of one device all arrive, however many are in flight", "[am]") {
  const auto kind =
      GENERATE(inbox_kind::in_place_handler, inbox_kind::queue_lcrq, inbox_kind::queue_array, inbox_kind::packet_queue);
  INFO(name_of(kind));
  on_ranks([kind](rank_env& env) {
    const int count = lci_test::thread_sanitizer ? 1000 : 5000;
    inbox box(env, kind, count);
    const auto rcomps = env.all_gather(box.rcomp());
    for (int i = 0; i < count; ++i) {
      const uint64_t number = static_cast<uint64_t>(i);
      env.post([&] {
        return lci::post_am_x(env.right(), &number, sizeof number, lci::COMP_NULL_RETRY,
                              rcomps[static_cast<size_t>(env.right())])
            .tag(number)
            .runtime(env.rt)();
      });
    }
    std::vector<int> seen(static_cast<size_t>(count), 0);
    bool intact = true;
    for (const auto& a : box.collect()) {
      uint64_t number = ~uint64_t{0};
      if (a.data.size() == sizeof number) std::memcpy(&number, a.data.data(), sizeof number);
      intact &= number == a.status.tag && number < seen.size();
      if (number < seen.size()) ++seen[number];
    }
    EXPECT(intact);
    EXPECT(seen == std::vector<int>(static_cast<size_t>(count), 1));
    env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("messages of a burst arrive although their sender makes no progress afterwards", "[am]") {
  on_ranks([](rank_env& env) {
    constexpr int count = 50;
    inbox box(env, inbox_kind::in_place_handler, count);
    const auto rcomps = env.all_gather(box.rcomp());
    const auto send = [&](int to) {
      for (uint64_t i = 0; i < count; ++i)
        env.post([&] {
          return lci::post_am_x(to, &i, sizeof i, lci::COMP_NULL_RETRY, rcomps[static_cast<size_t>(to)])
              .runtime(env.rt)();
        });
    };
    send(env.right());  // afterwards all ranks are connected
    box.collect();
    env.barrier();
    if (env.rank == 0) send(env.right());
    if (env.left() == 0) box.collect();
    if (env.rank == 0)
      env.barrier_at_rest();
    else
      env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("networks that copy at the post take messages of several packets at once", "[am]") {
  on_ranks([](rank_env& env) {
    const auto backend = lci::get_default_net_context_x().runtime(env.rt)().get_attr_backend();
    const size_t packets = backend == lci::attr_backend_t::shm ? 3 : backend == lci::attr_backend_t::tcp ? 2 : 1;
    constexpr size_t header = 16;
    const size_t limit = packets * (lci::get_max_bcopy_size_x().runtime(env.rt)() + header) - header;
    inbox box(env, inbox_kind::in_place_handler, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    auto sent = lci::alloc_sync_x().runtime(env.rt)();
    for (const size_t size : {limit, limit + 1}) {
      const auto out = message(size, size);
      const auto s =
          env.post([&] { return lci::post_am_x(env.right(), out.data(), size, sent, rcomp).runtime(env.rt)(); });
      if (packets > 1 && size == limit) EXPECT(s.is_done());
      for (const auto& a : box.collect()) EXPECT(matches(a.data.data(), a.data.size(), size));
      if (s.is_posted())
        while (!lci::sync_test_x(sent, nullptr).runtime(env.rt)()) lci::progress_x().runtime(env.rt)();
      env.barrier();
    }
    lci::free_comp_x(&sent).runtime(env.rt)();
  });
}

namespace {

/// Sends the right neighbour `n` messages of sizes around `size`, a window of them at a time, as beside other work each
/// wait for a peer takes milliseconds. Returns how many were eager.
int count_eager(rank_env& env, int n, size_t size) {
  constexpr int window = 20;
  inbox box(env, inbox_kind::in_place_handler, window);
  const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
  auto sent = lci::alloc_counter_x().runtime(env.rt)();
  int eager = 0;
  for (int first = 0; first < n; first += window) {
    std::vector<std::vector<char>> out;
    for (int i = first; i < first + window; ++i) {
      out.push_back(message(size + static_cast<size_t>(i % 100), static_cast<uint64_t>(i)));
      const auto s = env.post([&] {
        return lci::post_am_x(env.right(), out.back().data(), out.back().size(), sent, rcomp)
            .tag(static_cast<lci::tag_t>(i))
            .runtime(env.rt)();
      });
      eager += s.is_done();
    }
    // An eager message may overtake the one before it: the tag identifies them.
    for (const auto& a : box.collect()) {
      EXPECT_EQ(a.data.size(), size + a.status.tag % 100);
      EXPECT(matches(a.data.data(), a.data.size(), a.status.tag));
    }
    env.until("the sends", [&] {
      return lci::counter_get_x(sent).runtime(env.rt)() == static_cast<int64_t>(first + window - eager);
    });
  }
  env.barrier();
  lci::free_comp_x(&sent).runtime(env.rt)();
  return eager;
}

}  // namespace

TEST_CASE("in shared memory, messages above a packet are eager at first, and some go by rendezvous", "[am]") {
  const size_t size = GENERATE(size_t{12'000}, size_t{30'000}, size_t{60'000}, size_t{110'000});
  on_ranks([size](rank_env& env) {
    const auto backend = lci::get_default_net_context_x().runtime(env.rt)().get_attr_backend();
    const bool is_measured =
        backend == lci::attr_backend_t::shm && env.rt.get_attr_rdv_protocol() == lci::attr_rdv_protocol_t::auto_select;
    const int n = is_measured ? 1800 : 20;  // more than three rounds of a protocol: one of them is a trial of the other
    const int eager = count_eager(env, n, size);
    if (is_measured) EXPECT(eager > 400 && eager < n);
    if (backend == lci::attr_backend_t::sim) EXPECT_EQ(eager, 0);
  });
}

TEST_CASE("rdv_threshold and rdv_protocol decide which protocol messages above a packet take", "[am]") {
  const bool by_threshold = GENERATE(true, false);
  on_ranks(
      [](rank_env& env) {
        EXPECT_EQ(count_eager(env, 20, 30'000), 0);
        EXPECT_EQ(count_eager(env, 20, 110'000), 0);
      },
      [by_threshold](lci::global_attr_t& attr) {
        if (by_threshold)
          attr.rdv_threshold = 20'000;
        else
          attr.rdv_protocol = lci::attr_rdv_protocol_t::copy;
      });
}
