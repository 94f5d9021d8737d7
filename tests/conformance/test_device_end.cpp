// Devices that are freed while operations are in flight: the operations end at both ends.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

constexpr size_t large = 300'000;
constexpr lci::tag_t tag = 7;

/// Returns whether the operation ended as `cancelled`, or as `done` because that was faster.
bool ended_early_or_well(const lci::status_t& s) { return s.is_done() || s.error == lci::errorcode_t::cancelled; }

/// A device with connections to all ranks. Without them, a first message might still wait for a connection when the
/// device is freed.
lci::device_t device_that_has_met_others(rank_env& env) {
  const lci::device_t device = lci::alloc_device_x().runtime(env.rt)();
  lci::barrier_x().device(device).runtime(env.rt)();
  return device;
}

lci::status_t await(rank_env& env, lci::comp_t sync) {
  lci::status_t s;
  env.until("an operation to end", [&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
  return s;
}

/// Even ranks free the device first, while the others still use theirs.
bool goes_first(const rank_env& env) { return env.rank % 2 == 0; }

/// Frees the device; even ranks do so before the others.
void free_in_turn(rank_env& env, lci::device_t& device) {
  if (!goes_first(env)) {
    env.barrier();
    lci::free_device_x(&device).runtime(env.rt)();
    return;
  }
  lci::free_device_x(&device).runtime(env.rt)();
  env.barrier();
}

}  // namespace

TEST_CASE("an unmatched send ends as cancelled when its device is freed, and so does an unmatched receive",
          "[ends][lifecycle]") {
  const bool acked = GENERATE(false, true);
  INFO("the sender asks for remote completion: " << acked);
  on_ranks([acked](rank_env& env) {
    auto device = device_that_has_met_others(env);
    auto sent = lci::alloc_sync_x().runtime(env.rt)();
    auto received = lci::alloc_sync_x().runtime(env.rt)();
    const auto out = message(large, 1);
    std::vector<char> in(large);
    env.barrier();
    const auto s = env.post(device, [&] {
      return lci::post_send_x(env.right(), out.data(), large, tag, sent)
          .comp_semantic(acked ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory)
          .device(device)
          .runtime(env.rt)();
    });
    EXPECT(s.is_posted());
    for (int i = 0; i < 100; ++i) env.progress(device);
    env.barrier();
    lci::free_device_x(&device).runtime(env.rt)();
    EXPECT_EQ(await(env, sent).error, lci::errorcode_t::cancelled);
    // A receive on another device would have matched the message.
    const auto r =
        env.post([&] { return lci::post_recv_x(env.left(), in.data(), large, tag, received).runtime(env.rt)(); });
    EXPECT(r.is_posted());
    const auto end = await(env, received);
    EXPECT_EQ(end.error, lci::errorcode_t::cancelled);
    EXPECT_EQ(end.rank, env.left());
    EXPECT_EQ(end.tag, tag);
    env.barrier();
    lci::free_comp_x(&sent).runtime(env.rt)();
    lci::free_comp_x(&received).runtime(env.rt)();
  });
}

TEST_CASE("a send ends when the device of its target is freed before a receive has matched it", "[ends][lifecycle]") {
  on_ranks([](rank_env& env) {
    auto device = lci::alloc_device_x().runtime(env.rt)();
    auto sent = lci::alloc_sync_x().runtime(env.rt)();
    const auto out = message(large, 1);
    env.barrier();
    // To the rank itself, and to a rank that frees its device before or after this one.
    const int target = env.size == 1 ? env.rank : env.right();
    EXPECT(env.post(device,
                    [&] {
                      return lci::post_send_x(target, out.data(), large, tag, sent).device(device).runtime(env.rt)();
                    })
               .is_posted());
    for (int i = 0; i < 100; ++i) env.progress(device);
    env.barrier();
    free_in_turn(env, device);
    EXPECT_EQ(await(env, sent).error, lci::errorcode_t::cancelled);
    env.barrier();
    lci::free_comp_x(&sent).runtime(env.rt)();
  });
}

TEST_CASE("a send to a device that was freed before anything was sent to it ends as cancelled, and no rank has failed",
          "[ends][lifecycle]") {
  if (rank_count() == 1) LCI_SKIP("a single rank has no peer");
  on_ranks([](rank_env& env) {
    auto device = lci::alloc_device_x().runtime(env.rt)();
    auto sent = lci::alloc_sync_x().runtime(env.rt)();
    const auto out = message(large, 1);
    env.barrier();
    if (goes_first(env)) lci::free_device_x(&device).runtime(env.rt)();
    env.barrier();
    if (!goes_first(env)) {
      const int target = env.rank - 1;
      for (const bool acked : {false, true}) {
        const size_t size = acked ? 100 : large;
        EXPECT(env.post(device,
                        [&] {
                          return lci::post_send_x(target, out.data(), size, tag, sent)
                              .comp_semantic(acked ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory)
                              .allow_done(false)
                              .device(device)
                              .runtime(env.rt)();
                        })
                   .is_posted());
        lci::status_t s;
        env.until(device, "the send to end", [&] { return lci::sync_test_x(sent, &s).runtime(env.rt)(); });
        EXPECT_EQ(s.error, lci::errorcode_t::cancelled);
        EXPECT_EQ(s.rank, target);
      }
      lci::free_device_x(&device).runtime(env.rt)();
    }
    env.barrier();
    lci::free_comp_x(&sent).runtime(env.rt)();
  });
}

TEST_CASE("a send that waits for its acknowledgement ends when its device is freed, and its message is not lost",
          "[ends][lifecycle]") {
  on_ranks([](rank_env& env) {
    auto device = device_that_has_met_others(env);
    auto sent = lci::alloc_sync_x().runtime(env.rt)();
    const auto out = message(100, 1);
    std::vector<char> in(100);
    env.barrier();
    EXPECT(env.post(device,
                    [&] {
                      return lci::post_send_x(env.right(), out.data(), out.size(), tag, sent)
                          .comp_semantic(lci::comp_semantic_t::remote)
                          .device(device)
                          .runtime(env.rt)();
                    })
               .is_posted());
    for (int i = 0; i < 100; ++i) env.progress(device);
    env.barrier();
    lci::free_device_x(&device).runtime(env.rt)();
    EXPECT_EQ(await(env, sent).error, lci::errorcode_t::cancelled);
    env.barrier();
    const auto r = lci::post_recv_x(env.left(), in.data(), in.size(), tag, lci::COMP_NULL).runtime(env.rt)();
    EXPECT(r.is_done());
    EXPECT(in == out);
    env.barrier();
    lci::free_comp_x(&sent).runtime(env.rt)();
  });
}

TEST_CASE("transfers in flight end at both ends when one of them frees its device", "[ends][lifecycle]") {
  on_ranks(
      [](rank_env& env) {
        constexpr uint64_t n = 8;
        for (int round = 0; round < 6; ++round) {
          // In half of the rounds the devices have no connections yet: their first messages may reach a device that is
          // being freed.
          auto device = round % 4 < 2 ? device_that_has_met_others(env) : lci::alloc_device_x().runtime(env.rt)();
          auto cq = lci::alloc_cq_x().runtime(env.rt)();
          std::vector<std::vector<char>> out, in(n, std::vector<char>(large));
          lci::operation_t receives[n];
          uint64_t under_way = 0;
          for (uint64_t i = 0; i < n; ++i) out.push_back(message(large, i + static_cast<uint64_t>(env.rank)));
          env.barrier();
          for (uint64_t i = 0; i < n; ++i) {
            under_way += env.post(device,
                                  [&] {
                                    return lci::post_recv_x(env.left(), in[i].data(), large, i, cq)
                                        .operation(&receives[i])
                                        .allow_done(false)
                                        .device(device)
                                        .runtime(env.rt)();
                                  })
                             .is_posted();
            under_way += env.post(device,
                                  [&] {
                                    return lci::post_send_x(env.right(), out[i].data(), large, i, cq)
                                        .allow_done(false)
                                        .device(device)
                                        .runtime(env.rt)();
                                  })
                             .is_posted();
          }
          EXPECT_EQ(under_way, 2 * n);
          for (int i = 0; i < 2 * round; ++i) env.progress(device);
          const auto all_ended = [&] {
            for (lci::status_t s; (s = lci::cq_pop_x(cq).runtime(env.rt)()).error != lci::errorcode_t::retry;) {
              --under_way;
              EXPECT(ended_early_or_well(s));
              for (uint64_t i = 0; i < n; ++i)
                if (s.is_done() && s.buffer == in[i].data())
                  EXPECT(matches(s.buffer, large, i + static_cast<uint64_t>(env.left())));
            }
            return under_way == 0;
          };
          // In even rounds all ranks free their devices at the same time; in odd rounds the odd ranks use theirs until
          // their operations have ended, which needs no further call.
          if (goes_first(env) || round % 2 == 0)
            lci::free_device_x(&device).runtime(env.rt)();
          else
            env.until(device, "all operations to end", all_ended);
          env.barrier();
          if (!device.is_empty()) lci::free_device_x(&device).runtime(env.rt)();
          // Receives that no message of the device has matched can still match messages of other devices.
          for (const lci::operation_t& name : receives) lci::cancel(name);
          env.until("all operations to end", all_ended);
          env.barrier();
          lci::free_comp_x(&cq).runtime(env.rt)();
        }
      },
      with_small_chunks);
}

TEST_CASE("a receive that has outlived its device is none of a later device at the same address", "[ends][lifecycle]") {
  const bool writes = GENERATE(false, true);
  on_ranks(
      [](rank_env& env) {
        auto device = device_that_has_met_others(env);
        const void* const address = device.p_impl;
        auto received = lci::alloc_sync_x().runtime(env.rt)();
        const auto out = message(large, static_cast<uint64_t>(env.rank));
        std::vector<char> in(large), other(large);
        auto mr = lci::register_memory_x(in.data(), large).device(device).runtime(env.rt)();
        EXPECT(lci::post_recv_x(env.left(), in.data(), large, tag, received)
                   .mr(mr)
                   .device(device)
                   .runtime(env.rt)()
                   .is_posted());
        env.barrier();
        lci::free_device_x(&device).runtime(env.rt)();
        device = device_that_has_met_others(env);
        if (device.p_impl == address) {
          // What it has exchanged with others may still be under way; the receive would be for ever.
          env.until(device, "the device to be drained",
                    [&] { return lci::test_drained_x().device(device).runtime(env.rt)().is_done(); });
          EXPECT_INVALID(
              lci::post_recv_x(env.left(), other.data(), 8, tag, received).mr(mr).device(device).runtime(env.rt)(),
              "mr", "freed");
        }
        lci::deregister_memory_x(&mr).runtime(env.rt)();
        const auto s = env.post(device, [&] {
          return lci::post_send_x(env.right(), out.data(), large, tag, lci::COMP_NULL).device(device).runtime(env.rt)();
        });
        EXPECT(s.is_done());
        lci::status_t end;
        env.until(device, "the receive to end", [&] { return lci::sync_test_x(received, &end).runtime(env.rt)(); });
        EXPECT(end.is_done());
        EXPECT(matches(in.data(), large, static_cast<uint64_t>(env.left())));
        // The other ranks may need this one's progress, which a barrier of the test does not make on this device.
        lci::barrier_x().device(device).runtime(env.rt)();
        lci::free_comp_x(&received).runtime(env.rt)();
        lci::free_device_x(&device).runtime(env.rt)();
      },
      [writes](lci::global_attr_t& a) { a.rdv_protocol = writes ? lci::attr_rdv_protocol_t::write : a.rdv_protocol; });
}

namespace {

/// What one thread defers while another one frees a device that the deferred work may use.
struct deferred_use {
  std::atomic<bool> begun{false}, freed{false}, late{false};
  std::atomic<int> runs{0};
  bool waits = false;  // the node's second run takes a while

  static deferred_use& of(const lci::status_t& s) { return *static_cast<deferred_use*>(s.user_context); }
};

/// The node of a graph. Its first run asks for a second one.
lci::status_t use_twice(void* value) {
  auto& use = *static_cast<deferred_use*>(value);
  if (use.runs++ == 0) return lci::errorcode_t::retry;
  if (use.waits) {
    use.begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  use.late = use.freed.load();
  return lci::errorcode_t::done;
}

/// free_device() waits until the device's progress thread has left await_end(), which waits for free_device().
void without_progress_threads(lci::global_attr_t& attr) { attr.progress_thread = lci::progress_mode_t::none; }

/// A handler that returns when the device has been freed.
void await_end(lci::status_t s) {
  deferred_use::of(s).begun = true;
  while (!deferred_use::of(s).freed) std::this_thread::yield();
}

}  // namespace

TEST_CASE("what a graph has to repeat is not left to another thread when a device is freed", "[ends][lifecycle]") {
  const bool waits = GENERATE(false, true);
  INFO("the other thread is already inside the node's function: " << waits);
  on_ranks(
      [waits](rank_env& env) {
        auto device = device_that_has_met_others(env);
        deferred_use use;
        use.waits = waits;
        auto graph = lci::alloc_graph_x().runtime(env.rt)();
        lci::graph_add_node_x(graph, use_twice).value(&use).runtime(env.rt)();
        auto counter = lci::alloc_counter_x().runtime(env.rt)();
        const auto rcomp = lci::register_rcomp_x(counter).runtime(env.rt)();
        auto last = lci::alloc_handler_x(await_end).runtime(env.rt)();
        auto first = lci::alloc_handler_x([](lci::status_t s) {
                       // A handler in a handler is called later.
                       auto& again = *static_cast<lci::post_am_x*>(s.user_context);
                       (void)again();
                     }).runtime(env.rt)();
        const auto post = [&](lci::comp_t comp, void* context) {
          return lci::post_am_x(env.rank, nullptr, 0, comp, rcomp)
              .user_context(context)
              .allow_done(false)
              .runtime(env.rt);
        };
        auto inner = post(last, &use);
        if (!waits) {
          EXPECT(env.post([&] { return post(first, &inner)(); }).is_posted());
        }
        lci::graph_start_x(graph).runtime(env.rt)();
        std::atomic<bool> over{false};
        std::thread other([&] {
          while (!over) lci::progress_x().runtime(env.rt)();
        });
        while (!use.begun) std::this_thread::yield();
        lci::free_device_x(&device).runtime(env.rt)();
        use.freed = true;
        while (use.runs < 2) std::this_thread::yield();
        over = true;
        other.join();
        EXPECT(!use.late);
        const int64_t sent = waits ? 0 : 2;
        env.until("the messages", [&] { return lci::counter_get_x(counter).runtime(env.rt)() == sent; });
        env.until("the graph to end", [&] { return lci::graph_test_x(graph).runtime(env.rt)().is_done(); });
        env.barrier();
        lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
        for (lci::comp_t* comp : {&graph, &first, &last, &counter}) lci::free_comp_x(comp).runtime(env.rt)();
      },
      without_progress_threads);
}
