// Receives without a buffer, which get memory of the size of the message that they match.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

constexpr lci::tag_t allocating_tag = 9;

/// A receive from the left neighbour.
lci::status_t receive_anything(rank_env& env, lci::device_t device, lci::comp_t comp, bool allow_done = true) {
  return env.post(device, [&] {
    return lci::post_recv_x(env.left(), nullptr, 0, allocating_tag, comp)
        .allocate(true)
        .allow_done(allow_done)
        .user_context(&env)
        .device(device)
        .runtime(env.rt)();
  });
}
lci::status_t send_message(rank_env& env, lci::device_t device, const std::vector<char>& out, lci::comp_t comp,
                           bool acked = false) {
  return env.post(device, [&] {
    return lci::post_send_x(env.right(), out.data(), out.size(), allocating_tag, comp)
        .comp_semantic(acked ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory)
        .device(device)
        .runtime(env.rt)();
  });
}
void expect_allocated(rank_env& env, const lci::status_t& s, size_t size, uint64_t seed) {
  EXPECT(s.error == lci::errorcode_t::done || s.error == lci::errorcode_t::done_backlog);
  EXPECT_EQ(s.rank, env.left());
  EXPECT_EQ(s.tag, allocating_tag);
  EXPECT_EQ(s.size, size);
  EXPECT(s.user_context == &env);
  EXPECT(size == 0 || (s.buffer != nullptr && matches(s.buffer, s.size, seed)));
}
void free_allocated(rank_env& env, const lci::status_t& s) {
  if (s.buffer != nullptr) lci::get_allocator_x().runtime(env.rt)()->deallocate(s.buffer);
}

}  // namespace

TEST_CASE(
    "a receive without a buffer gets memory for a message of any size, whether it is posted before or after the "
    "send",
    "[sendrecv][allocate]") {
  const bool expected = GENERATE(true, false);
  const bool acked = GENERATE(true, false);
  const bool allow_done = GENERATE(true, false);
  INFO("receive posted first: " << expected << ", remote completion: " << acked << ", allow_done: " << allow_done);
  on_ranks(
      [expected, acked, allow_done](rank_env& env) {
        auto sent = lci::alloc_sync_x().runtime(env.rt)();
        auto received = lci::alloc_sync_x().runtime(env.rt)();
        for (const size_t size : interesting_sizes(env)) {
          const auto out = message(size, size + static_cast<uint64_t>(env.rank));
          lci::status_t s, r;
          if (expected) {
            r = receive_anything(env, env.device, received, allow_done);
            EXPECT(r.is_posted() || env.size == 1);
            env.barrier();
            s = send_message(env, env.device, out, sent, acked);
          } else {
            s = send_message(env, env.device, out, sent, acked);
            for (int i = 0; i < 20; ++i) env.progress();
            env.barrier();
            r = receive_anything(env, env.device, received, allow_done);
          }
          EXPECT(allow_done || r.is_posted());
          r = finished(env, received, r);
          EXPECT(finished(env, sent, s).is_done());
          expect_allocated(env, r, size, size + static_cast<uint64_t>(env.left()));
          free_allocated(env, r);
          env.barrier();
        }
        lci::free_comp_x(&sent).runtime(env.rt)();
        lci::free_comp_x(&received).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("a receive without a buffer completes through any object", "[sendrecv][allocate]") {
  const auto kind = GENERATE(from_range(all_inbox_kinds()));
  INFO(name_of(kind));
  if (kind == inbox_kind::counter) LCI_SKIP("a counter does not say where the buffer is");
  on_ranks([kind](rank_env& env) {
    inbox box(env, kind, 1, false);
    for (const size_t size : {size_t{8}, size_t{2000}, size_t{70'000}}) {
      const auto out = message(size, size);
      const auto r = receive_anything(env, env.device, box.comp(), false);
      EXPECT(r.is_posted());
      EXPECT(send_message(env, env.device, out, lci::COMP_NULL).is_done());
      const lci::status_t end = box.collect().front().status;
      expect_allocated(env, end, size, size);
      free_allocated(env, end);
      env.barrier();
      EXPECT(box.empty());
    }
  });
}

TEST_CASE("a receive without a buffer that waits returns one, also with other ways to match", "[sendrecv][allocate]") {
  on_ranks([](rank_env& env) {
    auto engine = lci::alloc_matching_engine_x().runtime(env.rt)();
    lci::tag_t base = 0;
    for (const auto policy : {lci::matching_policy_t::rank_tag, lci::matching_policy_t::tag_only}) {
      for (const size_t size : {size_t{100}, size_t{200'000}}) {
        auto sent = lci::alloc_sync_x().runtime(env.rt)();
        const auto out = message(size, 3);
        base += 100;
        // Tags for this message only, as any rank's would match, and messages have no order.
        const auto tag_to = [&](int rank) { return base + static_cast<lci::tag_t>(rank); };
        const auto s = env.post([&] {
          return lci::post_send_x(env.right(), out.data(), size, tag_to(env.right()), sent)
              .matching_engine(engine)
              .matching_policy(policy)
              .runtime(env.rt)();
        });
        const bool any = policy == lci::matching_policy_t::tag_only;
        const auto r =
            lci::post_recv_x(any ? lci::ANY_SOURCE : env.left(), nullptr, 0, tag_to(env.rank), lci::COMP_NULL)
                .allocate(true)
                .matching_engine(engine)
                .matching_policy(policy)
                .runtime(env.rt)();
        EXPECT(r.is_done());
        EXPECT_EQ(r.rank, env.left());
        EXPECT(r.size == size && matches(r.buffer, size, 3));
        free_allocated(env, r);
        EXPECT(finished(env, sent, s).is_done());
        lci::free_comp_x(&sent).runtime(env.rt)();
      }
    }
    env.barrier();
    lci::free_matching_engine_x(&engine).runtime(env.rt)();
  });
}

TEST_CASE("a receive that allocates takes neither a buffer, nor a size, nor a layout",
          "[sendrecv][allocate][invalid]") {
  on_ranks([](rank_env& env) {
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    char b[8] = {};
    const auto post = [&](void* buffer, size_t size) {
      return lci::post_recv_x(env.left(), buffer, size, allocating_tag, sync).allocate(true).runtime(env.rt);
    };
    EXPECT_INVALID(post(b, sizeof b)(), "allocate", "size 0");
    EXPECT_INVALID(post(b, 0)(), "allocate", "local_buffer");
    EXPECT_INVALID(post(nullptr, 8)(), "allocate", "size 0");
    const lci::layout_segment_t list[] = {{0, 4}, {4, 4}};
    const auto two = lci::layout_t::iovec(list, 2), none = lci::layout_t::iovec(list, 0);
    EXPECT_INVALID(post(nullptr, 0).layout(&two)(), "layout", "8 bytes");
    EXPECT_INVALID(post(nullptr, 0).layout(&none)(), "allocate", "layout");
    // Nothing was posted: the next message reaches the next receive.
    const auto s = send_message(env, env.device, message(8, 1), lci::COMP_NULL);
    EXPECT(s.is_done());
    const auto r = finished(env, sync, receive_anything(env, env.device, sync));
    expect_allocated(env, r, 8, 1);
    free_allocated(env, r);
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("a receive without a buffer can be cancelled before its message comes", "[cancel][allocate]") {
  on_ranks([](rank_env& env) {
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    lci::operation_t name;
    const auto r = lci::post_recv_x(env.left(), nullptr, 0, allocating_tag, sync)
                       .allocate(true)
                       .operation(&name)
                       .runtime(env.rt)();
    EXPECT(r.is_posted());
    EXPECT(lci::cancel(name));
    const auto end = finished(env, sync, r);
    EXPECT_EQ(end.error, lci::errorcode_t::cancelled);
    EXPECT(end.buffer == nullptr);
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("a receive without a buffer may wait longer than its device exists", "[ends][allocate]") {
  on_ranks([](rank_env& env) {
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    auto sent = lci::alloc_sync_x().runtime(env.rt)();
    for (const size_t size : {size_t{100}, size_t{3000}, size_t{300'000}}) {
      auto device = lci::alloc_device_x().runtime(env.rt)();
      const auto out = message(size, 4);
      const auto r = receive_anything(env, device, sync);
      EXPECT(r.is_posted());
      env.barrier();
      lci::free_device_x(&device).runtime(env.rt)();
      const auto s = send_message(env, env.device, out, sent, true);
      const auto end = finished(env, sync, r);
      expect_allocated(env, end, size, 4);
      free_allocated(env, end);
      EXPECT(finished(env, sent, s).is_done());
      env.barrier();
    }
    lci::free_comp_x(&sync).runtime(env.rt)();
    lci::free_comp_x(&sent).runtime(env.rt)();
  });
}

TEST_CASE("a receive without a buffer ends when its device is freed while the message is under way",
          "[ends][allocate]") {
  on_ranks(
      [](rank_env& env) {
        auto cq = lci::alloc_cq_x().runtime(env.rt)();
        constexpr int rounds = 8;
        constexpr size_t size = 3'000'000;
        const auto out = message(size, 5);
        for (int round = 0; round < rounds; ++round) {
          auto device = lci::alloc_device_x().runtime(env.rt)();
          lci::barrier_x().device(device).runtime(env.rt)();
          int under_way = 0;
          lci::operation_t receive;
          under_way += env.post(device,
                                [&] {
                                  return lci::post_recv_x(env.left(), nullptr, 0, allocating_tag, cq)
                                      .allocate(true)
                                      .operation(&receive)
                                      .allow_done(false)
                                      .user_context(&env)
                                      .device(device)
                                      .runtime(env.rt)();
                                })
                           .is_posted();
          under_way += env.post(device,
                                [&] {
                                  return lci::post_send_x(env.right(), out.data(), size, allocating_tag, cq)
                                      .allow_done(false)
                                      .device(device)
                                      .runtime(env.rt)();
                                })
                           .is_posted();
          EXPECT_EQ(under_way, 2);
          for (int i = 0; i < 2 * round; ++i) env.progress(device);
          const auto all_ended = [&] {
            for (lci::status_t s; (s = lci::cq_pop_x(cq).runtime(env.rt)()).error != lci::errorcode_t::retry;) {
              --under_way;
              EXPECT(s.is_done() || s.error == lci::errorcode_t::cancelled);
              if (s.user_context != &env) continue;
              if (s.is_done()) {
                EXPECT(s.size == size && matches(s.buffer, size, 5));
                free_allocated(env, s);
              } else {
                EXPECT(s.buffer == nullptr);
                EXPECT_EQ(s.size, size_t{0});
              }
            }
            return under_way == 0;
          };
          // In odd rounds the odd ranks use their device until their operations have ended, in even rounds all ranks
          // free theirs at the same time.
          if (env.rank % 2 == 0 || round % 2 == 0)
            lci::free_device_x(&device).runtime(env.rt)();
          else
            env.until(device, "all operations to end", all_ended);
          env.barrier();
          if (!device.is_empty()) lci::free_device_x(&device).runtime(env.rt)();
          lci::cancel(receive);  // if its message has not come, it might take that of another device
          env.until("all operations to end", all_ended);
          env.barrier();
        }
        lci::free_comp_x(&cq).runtime(env.rt)();
      },
      with_small_chunks);
}
