// Several threads in each rank, with one device for all or one each: messages arrive exactly once and intact.
#include <latch>
#include <thread>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

struct thread_message {
  int rank, thread, number;
};

}  // namespace

TEST_CASE("active messages of several threads arrive exactly once", "[threads][am]") {
  const int threads = GENERATE(1, 2, 4);
  const bool shared = GENERATE(true, false);
  const auto kind =
      GENERATE(inbox_kind::in_place_handler, inbox_kind::handler, inbox_kind::queue_lcrq, inbox_kind::queue_array,
               inbox_kind::packet_queue, inbox_kind::custom, inbox_kind::counter);
  INFO(threads << " threads, shared device " << shared << ", " << name_of(kind));
  on_ranks([=](rank_env& env) {
    const int each = 300;
    inbox box(env, kind, threads * each);
    const auto rcomps = env.all_gather(box.rcomp());
    const auto devices = env.devices(threads, shared);
    const auto rcomp = rcomps[static_cast<size_t>(env.right())];
    env.parallel(threads, [&](int t) {
      const auto device = devices[static_cast<size_t>(t)];
      for (int i = 0; i < each; ++i) {
        const thread_message m{env.rank, t, i};
        env.post(device, [&] {
          return lci::post_am_x(env.right(), &m, sizeof m, lci::COMP_NULL_RETRY, rcomp)
              .runtime(env.rt)
              .device(device)();
        });
      }
    });
    const auto all = box.collect();
    EXPECT_EQ(all.size(), static_cast<size_t>(threads * each));
    if (box.tells_status()) {
      std::vector<int> seen(all.size(), 0);
      bool good = true;
      for (const auto& a : all) {
        thread_message m{-1, -1, -1};
        if (a.data.size() == sizeof m) std::memcpy(&m, a.data.data(), sizeof m);
        const bool known = m.rank == env.left() && a.status.rank == env.left() && m.thread >= 0 && m.thread < threads &&
                           m.number >= 0 && m.number < each;
        good &= known;
        if (known) ++seen[static_cast<size_t>(m.thread * each + m.number)];
      }
      EXPECT(good);
      EXPECT(seen == std::vector<int>(seen.size(), 1));
    }
    env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("sends and receives of several threads match", "[threads][sendrecv]") {
  const int threads = GENERATE(1, 2, 4);
  const bool shared = GENERATE(true, false);
  const size_t size = GENERATE(size_t{8}, size_t{4000}, size_t{150'000});
  INFO(threads << " threads, shared device " << shared << ", " << size << " bytes");
  on_ranks([=](rank_env& env) {
    const auto devices = env.devices(threads, shared);
    env.parallel(threads, [&](int t) {
      const auto device = devices[static_cast<size_t>(t)];
      auto sync = lci::alloc_sync_x().threshold(2).runtime(env.rt)();
      for (int i = 0; i < 20; ++i) {
        const auto tag = static_cast<lci::tag_t>(t * 1000 + i);
        std::vector<char> out(size), in(size);
        exchange_around(env, device, sync, out.data(), in.data(), size, tag);
      }
      lci::free_comp_x(&sync).runtime(env.rt)();
    });
    env.barrier();
    env.until("the device to be drained", [&] { return lci::test_drained_x().runtime(env.rt)().is_done(); });
  });
}

TEST_CASE("puts and gets of several threads move the right bytes", "[threads][rma]") {
  const int threads = GENERATE(1, 2, 4);
  const bool shared = GENERATE(true, false);
  INFO(threads << " threads, shared device " << shared);
  on_ranks([=](rank_env& env) {
    constexpr size_t each = 40'000;
    const auto devices = env.devices(threads, shared);
    window w(env, each * static_cast<size_t>(threads), devices);
    env.parallel(threads, [&](int t) {
      const auto device = devices[static_cast<size_t>(t)];
      const auto disp = each * static_cast<size_t>(t);
      const auto rmr = w.of(env.right(), static_cast<size_t>(t));
      for (const size_t size : {size_t{8}, size_t{2000}, each}) {
        const auto out = message(size, static_cast<uint64_t>(env.rank * 10 + t) + size);
        std::vector<char> back(size);
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        auto finished = [&](lci::status_t s) {
          env.until(device, "put or get", [&] { return s.is_done() || lci::sync_test_x(sync, &s).runtime(env.rt)(); });
          EXPECT(s.is_done());
        };
        finished(env.post(device, [&] {
          return lci::post_put_x(env.right(), out.data(), size, sync, disp, rmr)
              .comp_semantic(lci::comp_semantic_t::remote)
              .runtime(env.rt)
              .device(device)();
        }));
        finished(env.post(device, [&] {
          return lci::post_get_x(env.right(), back.data(), size, sync, disp, rmr).runtime(env.rt).device(device)();
        }));
        EXPECT(back == out);
        lci::free_comp_x(&sync).runtime(env.rt)();
      }
    });
    env.barrier();
  });
}

namespace {

/// `threads` concurrent threads send a message of each of `sizes` to `targets` ranks; all messages must arrive.
void crowd(int threads, int targets, const std::vector<size_t>& sizes, const tuner& tune = {}) {
  on_ranks(
      [&](rank_env& env) {
        const int each = threads * static_cast<int>(sizes.size()) * targets;
        inbox box(env, inbox_kind::handler, each);
        const auto rcomps = env.all_gather(box.rcomp());
        auto sent = lci::alloc_counter_x().runtime(env.rt)();
        std::vector<std::vector<char>> out;
        for (const size_t size : sizes) out.push_back(message(size, size + static_cast<uint64_t>(env.rank)));
        std::latch all_alive(threads), all_sent(threads);
        std::vector<std::thread> crowd;
        for (int t = 0; t < threads; ++t)
          crowd.emplace_back([&] {
            env.enter();
            all_alive.arrive_and_wait();
            for (int k = 1; k <= targets; ++k)
              for (const auto& text : out)
                env.post([&] {
                  const int to = (env.rank + k) % env.size;
                  return lci::post_am_x(to, text.data(), text.size(), sent, rcomps[static_cast<size_t>(to)])
                      .allow_done(false)
                      .runtime(env.rt)();
                });
            all_sent.arrive_and_wait();
          });
        const auto all = box.collect();
        env.until("all to be sent",
                  [&] { return lci::counter_get_x(sent).runtime(env.rt)() >= static_cast<int64_t>(each); });
        for (auto& t : crowd) t.join();
        env.barrier();
        size_t wrong = 0;
        for (const auto& a : all)
          wrong += !matches(a.data.data(), a.data.size(), a.data.size() + static_cast<uint64_t>(a.status.rank));
        EXPECT_EQ(wrong, size_t{0});
        EXPECT(box.empty());
        lci::free_comp_x(&sent).runtime(env.rt)();
      },
      tune);
}

}  // namespace

TEST_CASE("more threads than there are thread indices send at once", "[threads]") {
  // Ranks in one process share the indices.
  const int ranks = ranks_in_one_process() ? rank_count() : 1;
  crowd(1100 / ranks + 1, 1, {8, 30'000});
}

TEST_CASE("threads share lanes where there are too few", "[threads]") {
  crowd(40, rank_count(), {8, 2000, 20'000}, [](lci::global_attr_t& attr) { attr.shm_segment_size = 1 << 20; });
}
