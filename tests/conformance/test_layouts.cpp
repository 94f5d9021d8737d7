// Buffers that are not contiguous.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pieces.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;
using lci::layout_segment_t;
using lci::layout_t;

TEST_CASE("sends and receives of any layouts move exactly their bytes", "[layout]") {
  on_ranks([](rank_env& env) {
    auto sent = lci::alloc_sync_x().runtime(env.rt)();
    auto received = lci::alloc_sync_x().runtime(env.rt)();
    int me = 0;
    for (int i = 0; i < variety; ++i) {
      pieces from, to;
      make_pieces(from, i);
      make_pieces(to, 1000 + i, std::max<size_t>(from.size(), 1));
      const bool scatter = i % 3 != 0 && from.size() > 0, gather = i % 3 != 1;
      const size_t size = from.size();
      std::vector<char> out = message(from.extent(), static_cast<uint64_t>(env.rank));
      const auto packed = from.gather(out.data());
      std::vector<char> in(to.extent() + 10, '\x33');
      const auto r = env.post([&] {
        return lci::post_recv_x(env.left(), in.data(), size, static_cast<lci::tag_t>(i), received)
            .layout(scatter ? &to.layout : nullptr)
            .user_context(&me)
            .runtime(env.rt)();
      });
      const void* const source = gather ? out.data() : packed.data();
      const auto s = env.post([&] {
        return lci::post_send_x(env.right(), source, size, static_cast<lci::tag_t>(i), sent)
            .layout(gather ? &from.layout : nullptr)
            .user_context(&me)
            .runtime(env.rt)();
      });
      const lci::status_t send_end = finished(env, sent, s), recv_end = finished(env, received, r);
      EXPECT(send_end.buffer == source && recv_end.buffer == in.data());
      for (const lci::status_t& end : {send_end, recv_end}) {
        EXPECT(end.is_done());
        EXPECT_EQ(end.size, size);
        EXPECT(end.user_context == &me);
      }
      const auto expected = from.gather(message(from.extent(), static_cast<uint64_t>(env.left())).data());
      if (scatter) {
        EXPECT(to.gather(in.data()) == expected);
        EXPECT(to.rest_is(in.data(), in.size(), '\x33'));
      } else {
        EXPECT(std::equal(expected.begin(), expected.end(), in.begin()));
      }
    }
    lci::free_comp_x(&sent).runtime(env.rt)();
    lci::free_comp_x(&received).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("large messages of layouts are gathered and scattered during the transfer", "[layout]") {
  on_ranks([](rank_env& env) {
    auto sync = lci::alloc_sync_x().threshold(2).runtime(env.rt)();
    pieces blocks, list;
    blocks.blocks({100, 60, 50}, {130, 9000});
    make_pieces(list, 7, blocks.size());
    const size_t size = blocks.size();
    // From blocks to a list and back, to and from contiguous buffers, and a message longer than its receive.
    struct {
      const pieces *from, *to;
      size_t wanted;
    } const ways[] = {{&blocks, &list, size}, {&list, &blocks, size}, {&blocks, nullptr, size},
                      {nullptr, &list, size}, {&list, nullptr, 1000}, {nullptr, nullptr, size}};
    for (const auto semantic : {lci::comp_semantic_t::memory, lci::comp_semantic_t::remote})
      for (const auto& way : ways) {
        const auto out = message(500'000, static_cast<uint64_t>(env.rank));
        std::vector<char> in(600'000, '\x33');
        env.post([&] {
          return lci::post_recv_x(env.left(), in.data(), way.wanted, 3, sync)
              .layout(way.to != nullptr ? &way.to->layout : nullptr)
              .allow_done(false)
              .runtime(env.rt)();
        });
        env.post([&] {
          return lci::post_send_x(env.right(), out.data(), size, 3, sync)
              .layout(way.from != nullptr ? &way.from->layout : nullptr)
              .comp_semantic(semantic)
              .allow_done(false)
              .runtime(env.rt)();
        });
        lci::status_t both[2];
        env.until("send and receive", [&] { return lci::sync_test_x(sync, both).runtime(env.rt)(); });
        EXPECT(both[0].is_done() && both[1].is_done());
        const auto theirs = message(500'000, static_cast<uint64_t>(env.left()));
        auto expected = way.from != nullptr ? way.from->gather(theirs.data())
                                            : std::vector<char>(theirs.begin(), theirs.begin() + 300'000);
        expected.resize(way.wanted);
        if (way.to != nullptr) {
          EXPECT(way.to->gather(in.data()) == expected);
          EXPECT(way.to->rest_is(in.data(), in.size(), '\x33'));
        } else {
          EXPECT(std::equal(expected.begin(), expected.end(), in.begin()));
          EXPECT_EQ(in[way.wanted], '\x33');
        }
      }
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("puts and gets of any layouts move exactly their bytes", "[layout]") {
  on_ranks([](rank_env& env) {
    constexpr size_t disp = 64;
    window w(env, 40'000);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const int peer = env.right();
    for (int i = 0; i < variety; ++i) {
      pieces here, there;
      make_pieces(here, i);
      make_pieces(there, 2000 + i, std::max<size_t>(here.size(), 1));
      const size_t size = here.size();
      const bool scatter = i % 3 != 0 && size > 0, gather = i % 3 != 1;
      const auto out = message(here.extent(), static_cast<uint64_t>(env.rank));
      const auto packed = here.gather(out.data());
      const layout_t* const remote = scatter ? &there.layout : nullptr;
      w.clear();
      env.barrier();
      const void* const source = gather ? out.data() : packed.data();
      auto s = finished(env, sync, env.post([&] {
        return lci::post_put_x(peer, source, size, sync, disp, w.of(peer))
            .layout(gather ? &here.layout : nullptr)
            .remote_layout(remote)
            .runtime(env.rt)();
      }));
      EXPECT(s.is_done());
      EXPECT_EQ(s.size, size);
      EXPECT_EQ(s.rank, peer);
      EXPECT(s.buffer == source);
      env.barrier();
      const auto expected = here.gather(message(here.extent(), static_cast<uint64_t>(env.left())).data());
      if (scatter) {
        EXPECT(there.gather(w.data() + disp) == expected);
        EXPECT(there.rest_is(w.data() + disp, w.size() - disp, '\x5a'));
      } else {
        EXPECT(std::equal(expected.begin(), expected.end(), w.data() + disp));
        EXPECT(w.untouched_but(disp, size));
      }
      std::vector<char> back(here.extent() + 10, '\x33');
      s = finished(env, sync, env.post([&] {
        return lci::post_get_x(peer, back.data(), size, sync, disp, w.of(peer))
            .layout(gather ? &here.layout : nullptr)
            .remote_layout(remote)
            .runtime(env.rt)();
      }));
      EXPECT(s.is_done());
      EXPECT_EQ(s.size, size);
      if (gather) {
        EXPECT(here.gather(back.data()) == packed);
        EXPECT(here.rest_is(back.data(), back.size(), '\x33'));
      } else {
        EXPECT(std::equal(packed.begin(), packed.end(), back.begin()));
      }
      env.barrier();
    }
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("a put of a layout signals once, when all its bytes have arrived", "[layout]") {
  on_ranks([](rank_env& env) {
    constexpr size_t rows = 30, row = 100, pitch = 300;
    window w(env, rows * pitch);
    inbox box(env, inbox_kind::queue_lcrq, 1, false);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    auto counter = lci::alloc_counter_x().runtime(env.rt)();
    const size_t counts[] = {row, rows}, strides[] = {pitch};
    const auto column = layout_t::strided(counts, strides, 1);
    EXPECT_EQ(column.size(), rows * row);
    EXPECT_EQ(column.extent(), (rows - 1) * pitch + row);
    const auto out = message(rows * row, static_cast<uint64_t>(env.rank));
    for (int i = 0; i < 5; ++i) {
      w.clear();
      env.barrier();
      const auto s = env.post([&] {
        return lci::post_put_x(env.right(), out.data(), out.size(), counter, 0, w.of(env.right()))
            .remote_layout(&column)
            .remote_comp(rcomp)
            .tag(77)
            .allow_done(false)
            .runtime(env.rt)();
      });
      EXPECT(s.is_posted());
      const auto a = box.collect().front();
      EXPECT_EQ(a.status.tag, lci::tag_t{77});
      EXPECT_EQ(a.status.size, out.size());
      EXPECT_EQ(a.status.rank, env.left());
      const auto expected = message(rows * row, static_cast<uint64_t>(env.left()));
      for (size_t r = 0; r < rows; ++r) EXPECT(std::memcmp(w.data() + r * pitch, expected.data() + r * row, row) == 0);
      env.until("the put to end", [&] { return lci::counter_get_x(counter).runtime(env.rt)() == i + 1; });
      env.barrier();
    }
    lci::free_comp_x(&counter).runtime(env.rt)();
  });
}

TEST_CASE("a flush and a blocking post wait for all pieces of a layout", "[layout]") {
  on_ranks([](rank_env& env) {
    window w(env, 20'000);
    auto counter = lci::alloc_counter_x().runtime(env.rt)();
    pieces there;
    make_pieces(there, 5, 5000);
    const auto out = message(5000, static_cast<uint64_t>(env.rank));
    const auto put = [&](lci::comp_t comp) {
      return env.post([&] {
        return lci::post_put_x(env.right(), out.data(), out.size(), comp, 0, w.of(env.right()))
            .remote_layout(&there.layout)
            .runtime(env.rt)();
      });
    };
    w.clear();
    env.barrier();
    const bool posted = put(counter).is_posted();
    EXPECT(lci::post_flush_x(env.right(), lci::COMP_NULL).runtime(env.rt)().is_done());
    EXPECT_EQ(lci::counter_get_x(counter).runtime(env.rt)(), int64_t{posted});
    env.barrier();
    const auto expected = message(5000, static_cast<uint64_t>(env.left()));
    EXPECT(there.gather(w.data()) == expected);
    env.barrier();
    w.clear();
    env.barrier();
    EXPECT(put(lci::COMP_NULL).is_done());
    env.barrier();
    EXPECT(there.gather(w.data()) == expected);
    lci::free_comp_x(&counter).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("an active message whose layout has no bytes arrives without a buffer", "[layout][am]") {
  on_ranks([](rank_env& env) {
    auto arrived = lci::alloc_cq_x().runtime(env.rt)();
    const auto rcomp = lci::register_rcomp_x(arrived).runtime(env.rt)();
    EXPECT_EQ(env.all_gather(rcomp)[0], rcomp);
    auto stream = lci::alloc_stream_x().runtime(env.rt)();
    const size_t counts[] = {0, 3}, strides[] = {8};
    const layout_t nothing = layout_t::strided(counts, strides, 1);
    char memory[24];
    for (const bool in_order : {false, true})
      for (const auto semantic :
           {lci::comp_semantic_t::memory, lci::comp_semantic_t::network, lci::comp_semantic_t::remote}) {
        const auto s = lci::post_am_x(env.right(), memory, 0, lci::COMP_NULL, rcomp)
                           .layout(&nothing)
                           .comp_semantic(semantic)
                           .stream(in_order ? stream : lci::stream_t())
                           .runtime(env.rt)();
        EXPECT(s.is_done());
        lci::status_t end;
        env.until("the message", [&] { return !(end = lci::cq_pop_x(arrived).runtime(env.rt)()).is_retry(); });
        EXPECT(end.is_done());
        EXPECT(end.buffer == nullptr);
        EXPECT_EQ(end.size, size_t{0});
      }
    lci::barrier_x().runtime(env.rt)();  // makes progress until all have got their messages
    env.barrier();
    lci::free_stream_x(&stream).runtime(env.rt)();
    lci::free_comp_x(&arrived).runtime(env.rt)();
  });
}

TEST_CASE("large layouts arrive whole", "[layout]") {
  on_ranks([](rank_env& env) {
    constexpr size_t rows = 300, row = 1000, pitch = 1100;  // more than any eager message
    auto sent = lci::alloc_sync_x().runtime(env.rt)();
    const size_t counts[] = {row, rows}, strides[] = {pitch};
    const auto matrix = layout_t::strided(counts, strides, 1);
    const auto out = message(rows * pitch, static_cast<uint64_t>(env.rank));
    std::vector<char> in(rows * pitch, '\x33');
    auto received = lci::alloc_sync_x().runtime(env.rt)();
    const auto r = env.post([&] {
      return lci::post_recv_x(env.left(), in.data(), matrix.size(), 1, received).layout(&matrix).runtime(env.rt)();
    });
    const auto s = env.post([&] {
      return lci::post_send_x(env.right(), out.data(), matrix.size(), 1, sent).layout(&matrix).runtime(env.rt)();
    });
    EXPECT(finished(env, sent, s).buffer == out.data());
    EXPECT(finished(env, received, r).buffer == in.data());
    const auto expected = message(rows * pitch, static_cast<uint64_t>(env.left()));
    for (size_t i = 0; i < rows * pitch; ++i)
      if (in[i] != (i % pitch < row ? expected[i] : '\x33')) EXPECT(false);
    lci::free_comp_x(&sent).runtime(env.rt)();
    lci::free_comp_x(&received).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("segments may lie anywhere in memory", "[layout]") {
  on_ranks([](rank_env& env) {
    // Offsets to nullptr are addresses.
    std::array<char, 3> a{'l', 'c', 'i'};
    std::array<char, 2> b{'v', '2'};
    std::array<char, 5> in{};
    const layout_segment_t list[] = {{reinterpret_cast<uintptr_t>(a.data()), a.size()},
                                     {reinterpret_cast<uintptr_t>(b.data()), b.size()}};
    const auto both = layout_t::iovec(list, 2);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const auto r = env.post([&] { return lci::post_recv_x(env.left(), in.data(), 5, 2, sync).runtime(env.rt)(); });
    env.post(
        [&] { return lci::post_send_x(env.right(), nullptr, 5, 2, lci::COMP_NULL).layout(&both).runtime(env.rt)(); });
    finished(env, sync, r);
    EXPECT_EQ(std::string(in.data(), 5), "lciv2");
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("an invalid layout is refused and nothing is posted", "[layout]") {
  on_ranks([](rank_env& env) {
    window w(env, 1000);
    char bytes[1000] = {};  // as long as the layouts reach
    const size_t counts[] = {10, 10, 1, 1, 1, 1, 1, 1, 1, 1}, strides[] = {100, 0, 0, 0, 0, 0, 0, 0, 0};
    const auto hundred = layout_t::strided(counts, strides, 1);
    const auto put = [&](size_t size, size_t disp, const layout_t* local, const layout_t* remote) {
      return lci::post_put_x(env.rank, bytes, size, lci::COMP_NULL, disp, w.of(env.rank))
          .layout(local)
          .remote_layout(remote)
          .runtime(env.rt);
    };
    EXPECT_INVALID(put(99, 0, nullptr, &hundred)(), "remote_layout", "size = 99");
    EXPECT_INVALID(put(99, 0, &hundred, nullptr)(), "layout", "of 100 bytes");
    EXPECT_INVALID(put(100, 91, nullptr, &hundred)(), "remote_disp", "91");
    const auto deep = layout_t::strided(counts, strides, 9);
    EXPECT_INVALID(put(100, 0, nullptr, &deep)(), "remote_layout", "9 levels");
    const layout_segment_t endless[] = {{8, ~size_t{0} - 4}};
    const auto overflow = layout_t::iovec(endless, 1);
    EXPECT_INVALID(put(~size_t{0} - 4, 0, nullptr, &overflow)(), "remote_layout", "address space");
    EXPECT_INVALID(lci::post_send_x(env.rank, bytes, 7, 0, lci::COMP_NULL).layout(&hundred).runtime(env.rt)(), "layout",
                   "size = 7");
    EXPECT_INVALID(lci::post_recv_x(env.rank, bytes, 7, 0, lci::COMP_NULL).layout(&hundred).runtime(env.rt)(), "layout",
                   "size = 7");
    EXPECT_INVALID(lci::post_am_x(env.rank, bytes, 7, lci::COMP_NULL, 1).layout(&hundred).runtime(env.rt)(), "layout",
                   "size = 7");
    EXPECT_INVALID(lci::post_am_x(env.rank, bytes, 100, lci::COMP_NULL, 0).layout(&hundred).runtime(env.rt)(),
                   "remote_comp", "0");
    EXPECT_INVALID(lci::post_am_x(env.size, bytes, 100, lci::COMP_NULL, 1).layout(&hundred).runtime(env.rt)(), "rank",
                   std::to_string(env.size));
    // Remote segments: for the remote side only, without other remote arguments, each within its registration.
    const lci::remote_segment_t good[] = {{w.of(env.rank), 0, 60}, {w.of(env.rank), 500, 40}},
                                far[] = {{w.of(env.rank), 0, 60}, {w.of(env.rank), 961, 40}},
                                none[] = {{w.of(env.rank), 0, 60}, {lci::RMR_NULL, 0, 40}};
    const auto remote = layout_t::remote(good, 2), beyond = layout_t::remote(far, 2),
               unnamed = layout_t::remote(none, 2);
    const auto put_segments = [&](size_t disp, lci::rmr_t rmr, const layout_t* to) {
      return lci::post_put_x(env.rank, bytes, 100, lci::COMP_NULL, disp, rmr).remote_layout(to).runtime(env.rt);
    };
    EXPECT_INVALID(put_segments(0, w.of(env.rank), &remote)(), "rmr", "RMR_NULL");
    EXPECT_INVALID(put_segments(8, lci::RMR_NULL, &remote)(), "remote_disp", "of its own");
    EXPECT_INVALID(put_segments(0, lci::RMR_NULL, &beyond)(), "remote_disp", "961");
    EXPECT_INVALID(put_segments(0, lci::RMR_NULL, &unnamed)(), "rmr", "post_put");
    EXPECT_INVALID(put(100, 0, &remote, nullptr)(), "layout", "remote segments");
    EXPECT_INVALID(lci::post_send_x(env.rank, bytes, 100, 0, lci::COMP_NULL).layout(&remote).runtime(env.rt)(),
                   "layout", "remote segments");
    EXPECT_INVALID(lci::post_am_x(env.rank, bytes, 100, lci::COMP_NULL, 1).layout(&remote).runtime(env.rt)(), "layout",
                   "remote segments");
    EXPECT_INVALID(lci::post_comm_x(lci::direction_t::OUT, env.rank, bytes, 100, lci::COMP_NULL)
                       .remote_layout(&hundred)
                       .runtime(env.rt)(),
                   "remote_layout", "rmr");
    if (std::getenv("LCI_TEST_SHARED_WINDOWS") == nullptr) {  // plain copies need no registration
      auto other = lci::alloc_device_x().runtime(env.rt)();
      auto mr = lci::register_memory_x(bytes, sizeof bytes).device(other).runtime(env.rt)();
      EXPECT_INVALID(put(100, 0, nullptr, &hundred).mr(mr)(), "mr", "device");
      lci::deregister_memory_x(&mr).runtime(env.rt)();
      lci::free_device_x(&other).runtime(env.rt)();
    }
    EXPECT(w.untouched_but(0, 0));
    env.barrier();
  });
}
