// Each operation signals its completion object exactly once, also if it was already ending when its device is freed;
// and objects that threads share outlive their last use.
#include <thread>

#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

constexpr lci::tag_t tag_here = 11;

/// Pops all statuses from the queue and returns their number. Each must be `done`, or an error of an operation that
/// ended early.
size_t take_all(rank_env& env, lci::comp_t cq) {
  size_t n = 0;
  for (lci::status_t s; !(s = lci::cq_pop_x(cq).runtime(env.rt)()).is_retry(); ++n)
    if (!s.is_done() && s.error != lci::errorcode_t::timed_out) EXPECT_EQ(s.error, lci::errorcode_t::cancelled);
  return n;
}

}  // namespace

TEST_CASE("puts and gets of layouts that are in flight end when their device is freed", "[ends][layout]") {
  const bool named = GENERATE(false, true);
  INFO("the operations have names: " << named);
  on_ranks([named](rank_env& env) {
    constexpr size_t rows = 50, row = 1000, stride = 2000;
    const size_t counts[] = {row, rows};
    const size_t strides[] = {stride};
    const auto matrix = lci::layout_t::strided(counts, strides, 1);
    auto device = lci::alloc_device_x().close_timeout(0.1).runtime(env.rt)();
    auto cq = lci::alloc_cq_x().runtime(env.rt)();
    size_t under_way = 0;
    {
      window memory(env, rows * stride, {device}, true);  // shared memory would have to be freed before the device
      std::vector<char> here(rows * stride, '\x5a');
      lci::operation_t names[2];
      env.barrier();
      under_way +=
          env.post(device,
                   [&] {
                     return lci::post_put_x(env.right(), here.data(), rows * row, cq, 0, memory.of(env.right()))
                         .layout(&matrix)
                         .remote_layout(&matrix)
                         .operation(named ? &names[0] : nullptr)
                         .allow_done(false)
                         .device(device)
                         .runtime(env.rt)();
                   })
              .is_posted();
      under_way +=
          env.post(device,
                   [&] {
                     return lci::post_get_x(env.right(), here.data(), rows * row, cq, 0, memory.of(env.right()))
                         .layout(&matrix)
                         .remote_layout(&matrix)
                         .operation(named ? &names[1] : nullptr)
                         .allow_done(false)
                         .device(device)
                         .runtime(env.rt)();
                   })
              .is_posted();
      env.barrier();
      // Even ranks free the device while the others make no progress on it.
      if (env.rank % 2 != 0) env.barrier();
      lci::free_device_x(&device).runtime(env.rt)();
      if (env.rank % 2 == 0) env.barrier();
      size_t told = 0;
      env.until("each operation to end", [&] { return (told += take_all(env, cq)) >= under_way; });
      env.barrier();
      EXPECT_EQ(told + take_all(env, cq), under_way);
    }
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}

TEST_CASE("an operation that was cancelled or timed out does not signal again when its device is freed",
          "[ends][cancel]") {
  on_ranks([](rank_env& env) {
    constexpr size_t n = 40;
    auto device = lci::alloc_device_x().close_timeout(0.1).runtime(env.rt)();
    auto cq = lci::alloc_cq_x().runtime(env.rt)();
    const auto out = message(30'000, 1);
    size_t posted = 0, told = 0;
    env.barrier();
    // To a rank that makes no progress on the device: some wait in the backlog, some in the network, some for an
    // answer.
    for (size_t i = 0; i < n; ++i) {
      lci::operation_t name;
      const size_t size = i % 4 == 0 ? out.size() : 1000;
      const auto s = lci::post_send_x(env.right(), out.data(), size, tag_here, cq)
                         .comp_semantic(i % 4 == 1 ? lci::comp_semantic_t::remote : lci::comp_semantic_t::network)
                         .operation(&name)
                         .deadline(i % 2 == 0 ? 0.001 : -1)
                         .allow_done(false)
                         .device(device)
                         .runtime(env.rt)();
      if (!s.is_posted()) continue;
      ++posted;
      if (i % 2 != 0) lci::cancel(name);
    }
    env.barrier_at_rest();  // a post to a device that is freed already would throw
    for (int i = 0; i < 100; ++i) env.progress(device);
    if (env.rank % 2 != 0) env.barrier();
    lci::free_device_x(&device).runtime(env.rt)();
    if (env.rank % 2 == 0) env.barrier();
    env.until("each operation to end", [&] { return (told += take_all(env, cq)) >= posted; });
    env.barrier();
    EXPECT_EQ(told + take_all(env, cq), posted);
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}

TEST_CASE("receives of one device match messages of another one while that is freed", "[ends][threads]") {
  on_ranks([](rank_env& env) {
    constexpr size_t n = 200, size = 100;
    for (int round = 0; round < 10; ++round) {
      auto device = lci::alloc_device_x().runtime(env.rt)();
      lci::barrier_x().device(device).runtime(env.rt)();
      const auto out = message(size, 3);
      for (size_t i = 0; i < n; ++i)
        env.post(device, [&] {
          return lci::post_send_x(env.right(), out.data(), size, tag_here, lci::COMP_NULL)
              .device(device)
              .runtime(env.rt)();
        });
      lci::barrier_x().device(device).runtime(env.rt)();
      for (int i = 0; i < 100; ++i) env.progress(device);
      env.barrier();
      auto cq = lci::alloc_cq_x().runtime(env.rt)();
      std::vector<std::vector<char>> in(n, std::vector<char>(size));
      std::vector<lci::operation_t> names(n);
      std::thread receiver([&] {
        for (size_t i = 0; i < n; ++i)
          EXPECT(lci::post_recv_x(env.left(), in[i].data(), size, tag_here, cq)
                     .operation(&names[i])
                     .allow_done(false)
                     .runtime(env.rt)()
                     .is_posted());
      });
      lci::free_device_x(&device).runtime(env.rt)();
      receiver.join();
      env.barrier();
      // Messages that had not arrived when the device was freed never arrive, so cancel their receives.
      for (const lci::operation_t& name : names) lci::cancel(name);
      size_t ended = 0, received = 0;
      env.until("each receive to end", [&] {
        for (lci::status_t s; !(s = lci::cq_pop_x(cq).runtime(env.rt)()).is_retry(); ++ended) {
          EXPECT(s.is_done() || s.error == lci::errorcode_t::cancelled);
          if (!s.is_done()) continue;
          ++received;
          EXPECT(matches(s.buffer, size, 3));
        }
        return ended == n;
      });
      EXPECT(received > 0);
      env.barrier();
      lci::free_comp_x(&cq).runtime(env.rt)();
    }
  });
}

TEST_CASE("a runtime whose free_runtime was refused still works, and can be freed later", "[runtimes][ends]") {
  if (ranks_in_one_process() && rank_count() > 1)
    LCI_SKIP("in a sim process each runtime is a rank, and the number of ranks is fixed");
  on_ranks([](rank_env& env) {
    auto rt = lci::alloc_runtime();
    std::vector<char> memory(1000);
    auto mr = lci::register_memory_x(memory.data(), memory.size()).runtime(rt)();
    auto published = lci::publish_memory_x(mr).runtime(rt)();
    EXPECT_INVALID(lci::free_runtime(&rt), "published", "unpublish_memory");
    EXPECT(!rt.is_empty());
    EXPECT_EQ(lci::get_rank_n_x().runtime(rt)(), env.size);
    lci::unpublish_memory_x(&published).runtime(rt)();
    lci::deregister_memory_x(&mr).runtime(rt)();
    lci::free_runtime(&rt);
    EXPECT(rt.is_empty());
  });
}
