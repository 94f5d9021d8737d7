// Active messages of layouts, and puts and gets of remote segments with a registration each.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pieces.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

TEST_CASE("active messages of any layouts arrive as one buffer at any completion object", "[layout]") {
  const auto kind = GENERATE(inbox_kind::in_place_handler, inbox_kind::queue_lcrq, inbox_kind::packet_queue);
  INFO(name_of(kind));
  on_ranks([kind](rank_env& env) {
    inbox box(env, kind, 1);
    const auto to = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    auto stream = lci::alloc_stream_x().runtime(env.rt)();
    pieces blocks;
    blocks.blocks({100, 60, 50}, {130, 9000});
    int me = 0;
    for (int i = 0; i < variety; ++i) {
      pieces list;
      make_pieces(list, i);
      const pieces& from = i % 6 == 5 ? blocks : list;  // larger than any packet
      const auto out = message(from.extent(), static_cast<uint64_t>(env.rank));
      auto post = lci::post_am_x(env.right(), out.data(), from.size(), sync, to)
                      .layout(&from.layout)
                      .tag(static_cast<lci::tag_t>(i))
                      .user_context(&me)
                      .runtime(env.rt);
      if (i % 4 == 1) post.comp_semantic(lci::comp_semantic_t::remote);
      if (i % 4 == 2) post.comp_semantic(lci::comp_semantic_t::network);
      if (i % 3 == 2) post.stream(stream);
      const auto s = env.post([&] { return post(); });
      const auto a = box.collect().front();
      EXPECT_EQ(a.status.tag, static_cast<lci::tag_t>(i));
      EXPECT_EQ(a.status.rank, env.left());
      EXPECT_EQ(a.data.size(), from.size());
      const auto expected = from.gather(message(from.extent(), static_cast<uint64_t>(env.left())).data());
      EXPECT(std::equal(expected.begin(), expected.end(), a.data.begin(), a.data.end()));
      const lci::status_t end = finished(env, sync, s);
      EXPECT(end.is_done() && end.buffer == out.data() && end.user_context == &me);
      EXPECT_EQ(end.size, from.size());
      env.barrier();
    }
    {  // By post_comm, from buffers anywhere in memory.
      const std::string first = "active ", second = "message";
      const layout_segment_t list[] = {{reinterpret_cast<uintptr_t>(first.data()), first.size()},
                                       {reinterpret_cast<uintptr_t>(second.data()), second.size()}};
      const auto both = layout_t::iovec(list, 2);
      env.post([&] {
        return lci::post_comm_x(lci::direction_t::OUT, env.right(), nullptr, both.size(), lci::COMP_NULL)
            .remote_comp(to)
            .layout(&both)
            .runtime(env.rt)();
      });
      EXPECT_EQ(box.collect().front().data, std::string("active message"));
    }
    env.barrier();
    lci::free_stream_x(&stream).runtime(env.rt)();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("puts and gets reach segments of several registrations in one operation", "[layout]") {
  on_ranks([](rank_env& env) {
    constexpr size_t windows = 3, size = 30'000;
    window a(env, size), b(env, size), c(env, size);
    window* const all[windows] = {&a, &b, &c};
    inbox box(env, inbox_kind::queue_lcrq, 1, false);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const int peer = env.right();
    for (int i = 0; i < variety; ++i) {
      pieces here;
      make_pieces(here, i);
      const size_t n = here.size();
      // Each third of the message is in a different window; the second segment is empty.
      const auto list_of = [&](int rank) {
        std::vector<lci::remote_segment_t> list;
        const size_t part = n / windows;
        for (size_t w = 0; w < windows; ++w)
          list.push_back({all[(w + static_cast<size_t>(i)) % windows]->of(rank), 100 * w + static_cast<size_t>(i),
                          w + 1 < windows ? part : n - part * (windows - 1)});
        list.insert(list.begin() + 1, {a.of(rank), 7, 0});
        return list;
      };
      const auto list = list_of(peer);
      const auto remote = layout_t::remote(list.data(), list.size());
      EXPECT_EQ(remote.size(), n);
      for (window* w : all) w->clear();
      env.barrier();
      const auto out = message(here.extent(), static_cast<uint64_t>(env.rank));
      const bool signals = i % 2 == 0;
      auto s = finished(env, sync, env.post([&] {
        return lci::post_put_x(peer, out.data(), n, sync, 0, lci::RMR_NULL)
            .layout(&here.layout)
            .remote_layout(&remote)
            .remote_comp(signals ? rcomp : 0)
            .tag(5)
            .comp_semantic(signals ? lci::comp_semantic_t::memory : lci::comp_semantic_t::remote)
            .runtime(env.rt)();
      }));
      EXPECT(s.is_done());
      EXPECT_EQ(s.size, n);
      EXPECT(s.buffer == out.data());
      const auto mine = list_of(env.rank);
      if (signals) {
        const auto arrived = box.collect().front();
        EXPECT_EQ(arrived.status.size, n);
        EXPECT_EQ(arrived.status.tag, lci::tag_t{5});
        const auto first = std::find_if(mine.begin(), mine.end(), [](const auto& m) { return m.size > 0; });
        if (first != mine.end())
          EXPECT(arrived.status.buffer == reinterpret_cast<void*>(first->rmr.base + first->offset));
      }
      env.barrier();
      const auto expected = here.gather(message(here.extent(), static_cast<uint64_t>(env.left())).data());
      size_t passed = 0;
      for (const auto& m : mine) {
        if (m.size == 0) continue;
        EXPECT(std::memcmp(reinterpret_cast<const char*>(m.rmr.base) + m.offset, expected.data() + passed, m.size) ==
               0);
        passed += m.size;
      }
      for (window* w : all)
        for (const auto& m : mine)
          if (m.size > 0 && m.rmr == w->of(env.rank)) EXPECT(w->untouched_but(m.offset, m.size));
      std::vector<char> back(n + 1, '\x33');
      s = finished(env, sync, env.post([&] {
        return lci::post_comm_x(lci::direction_t::IN, peer, back.data(), n, sync)
            .remote_layout(&remote)
            .runtime(env.rt)();
      }));
      EXPECT(s.is_done());
      const auto packed = here.gather(out.data());
      EXPECT(std::equal(packed.begin(), packed.end(), back.begin()));
      EXPECT_EQ(back[n], '\x33');
      env.barrier();
    }
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}
