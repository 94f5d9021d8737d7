// Messages for which their target has no memory.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>

#include "tests/conformance/harness.hpp"
#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

/// Refuses to allocate one size: it returns nullptr or, with `throws`, throws std::bad_alloc.
struct choosy_allocator final : lci::allocator_base_t {
  void* allocate(size_t size) override {
    if (size != refused.load()) return std::malloc(size);
    if (throws) throw std::bad_alloc();  // as an allocator built on operator new does
    return nullptr;
  }
  void deallocate(void* p) override {
    if (p == nullptr) ++nulls_freed;
    std::free(p);
  }
  std::atomic<size_t> refused{0};
  std::atomic<int> nulls_freed{0};
  bool throws = false;
};

/// A queue for active messages of a rank with such an allocator.
struct choosy_target {
  explicit choosy_target(rank_env& e, bool throws = false)
      : env(e), before(lci::get_allocator_x().runtime(e.rt)()), queue(lci::alloc_cq_x().runtime(e.rt)()) {
    allocator.throws = throws;
    lci::set_allocator_x(&allocator).runtime(env.rt)();
    mine = lci::register_rcomp_x(queue).runtime(env.rt)();
    right = env.all_gather(mine)[static_cast<size_t>(env.right())];
  }
  ~choosy_target() {  // destroyed when no more message is in flight
    lci::set_allocator_x(before).runtime(env.rt)();
    lci::deregister_rcomp_x(mine).runtime(env.rt)();
    lci::free_comp_x(&queue).runtime(env.rt)();
  }
  /// Pops the next message, which must have this size and tag.
  void expect(size_t size, lci::tag_t tag) {
    lci::status_t s;
    env.until("a message", [&] { return (s = lci::cq_pop_x(queue).runtime(env.rt)()).is_done(); });
    EXPECT_EQ(s.size, size);
    EXPECT_EQ(s.tag, tag);
    EXPECT(matches(s.buffer, s.size, tag));
    if (s.size > 0) allocator.deallocate(s.buffer);
  }

  rank_env& env;
  choosy_allocator allocator;
  lci::allocator_base_t* const before;
  lci::comp_t queue;
  lci::rcomp_t mine, right;
};

const size_t sizes_refused[] = {9, 3000, 150'000};

bool throws_resource_error(rank_env& env, const lci::status_t& status) {
  try {
    lci::check_status_x(status).runtime(env.rt)();
  } catch (const lci::resource_error&) {
    return true;
  }
  return false;
}

void count_messages(lci::global_attr_t& attr) { attr.counters = true; }

lci::count_t counted(rank_env& env, int rank) {
  return lci::get_counters_x().device(env.device).rank(rank).runtime(env.rt)().no_memory;
}

}  // namespace

TEST_CASE("a send fails with no_memory if its target has no memory for it, and can be repeated",
          "[remote][allocator]") {
  const bool throws = GENERATE(false, true);
  INFO("the target's allocator throws: " << throws);
  on_ranks(
      [throws](rank_env& env) {
        choosy_target target(env, throws);
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        size_t lost = 0;
        for (const size_t size : sizes_refused) {
          const auto out = message(size, 5);
          const auto send = [&] {
            return finished(env, sync, env.post([&] {
              return lci::post_am_x(env.right(), out.data(), size, sync, target.right)
                  .tag(5)
                  .comp_semantic(lci::comp_semantic_t::remote)
                  .runtime(env.rt)();
            }));
          };
          target.allocator.refused = size;
          env.barrier();
          const lci::status_t s = send();
          EXPECT_EQ(s.error, lci::errorcode_t::no_memory);
          EXPECT_EQ(s.rank, env.right());
          EXPECT(throws_resource_error(env, s));
          env.barrier();
          EXPECT(!lci::cq_pop_x(target.queue).runtime(env.rt)().is_done());
          lost += size;
          EXPECT_EQ(counted(env, env.left()).bytes, lost);
          target.allocator.refused = 0;
          env.barrier();
          EXPECT(send().is_done());
          target.expect(size, 5);
          env.barrier();
        }
        lci::free_comp_x(&sync).runtime(env.rt)();
        env.barrier();
      },
      count_messages);
}

TEST_CASE("a receive without a buffer ends as no_memory if there is none, and so does a sender that waits for it",
          "[sendrecv][remote][allocate]") {
  const bool throws = GENERATE(false, true);
  const bool expected = GENERATE(true, false);
  const bool allow_done = GENERATE(true, false);
  INFO("the allocator throws: " << throws << ", receive posted first: " << expected << ", allow_done: " << allow_done);
  on_ranks(
      [throws, expected, allow_done](rank_env& env) {
        choosy_target target(env, throws);
        auto sent = lci::alloc_sync_x().runtime(env.rt)();
        auto received = lci::alloc_sync_x().runtime(env.rt)();
        size_t lost = 0;
        for (const size_t size : sizes_refused) {
          const auto out = message(size, 5);
          const auto receive = [&] {
            return env.post([&] {
              return lci::post_recv_x(env.left(), nullptr, 0, 6, received)
                  .allocate(true)
                  .allow_done(allow_done)
                  .runtime(env.rt)();
            });
          };
          const auto send = [&] {
            return env.post([&] {
              return lci::post_send_x(env.right(), out.data(), size, 6, sent)
                  .comp_semantic(lci::comp_semantic_t::remote)
                  .runtime(env.rt)();
            });
          };
          for (const bool refused : {true, false}) {
            target.allocator.refused = refused ? size : 0;
            lci::status_t r, s;
            if (expected) r = receive();
            env.barrier();
            s = send();
            if (!expected) {
              for (int i = 0; i < 20; ++i) env.progress();
              env.barrier();
              r = receive();
            }
            if (r.is_posted())
              env.until("the receive", [&] { return lci::sync_test_x(received, &r).runtime(env.rt)(); });
            if (s.is_posted()) env.until("the send", [&] { return lci::sync_test_x(sent, &s).runtime(env.rt)(); });
            if (refused) {
              EXPECT_EQ(r.error, lci::errorcode_t::no_memory);
              EXPECT(r.buffer == nullptr);
              EXPECT_EQ(r.size, size_t{0});
              EXPECT_EQ(r.rank, env.left());
              EXPECT_EQ(s.error, lci::errorcode_t::no_memory);
              lost += size;
              EXPECT_EQ(counted(env, env.left()).bytes, lost);
            } else {
              EXPECT(r.is_done() && s.is_done());
              EXPECT(r.size == size && matches(r.buffer, size, 5));
              target.allocator.deallocate(r.buffer);
            }
            env.barrier();
          }
        }
        EXPECT_EQ(target.allocator.nulls_freed.load(), 0);
        lci::free_comp_x(&sent).runtime(env.rt)();
        lci::free_comp_x(&received).runtime(env.rt)();
        env.barrier();
      },
      count_messages);
}

TEST_CASE("a blocking post throws if the target has no memory for its message", "[remote][allocator]") {
  on_ranks([](rank_env& env) {
    choosy_target target(env);
    for (const size_t size : sizes_refused) {
      const auto out = message(size, 5);
      target.allocator.refused = size;
      env.barrier();
      bool thrown = false;
      try {
        lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, target.right)
            .comp_semantic(lci::comp_semantic_t::remote)
            .runtime(env.rt)();
      } catch (const lci::resource_error&) {
        thrown = true;
      }
      EXPECT(thrown);
      env.barrier();
    }
    env.barrier();
  });
}

TEST_CASE("a message of a stream for which there is no memory does not affect the others", "[stream][allocator]") {
  const bool acked = GENERATE(false, true);
  INFO("the sender asks for remote completion: " << acked);
  const bool throws = GENERATE(false, true);
  INFO("the target's allocator throws: " << throws);
  on_ranks(
      [acked, throws](rank_env& env) {
        choosy_target target(env, throws);
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        auto stream = lci::alloc_stream_x().runtime(env.rt)();
        uint64_t lost = 0;
        // progress() throws for each lost message whose sender waits for no answer: `unreported` ones.
        uint64_t unreported = 0, thrown = 0;
        const auto until = [&](const auto& done) {
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30 * lci_test::time_scale);
          for (bool over = false; !over && std::chrono::steady_clock::now() < end;) {
            try {
              lci::progress_x().runtime(env.rt)();
              over = done();
            } catch (const lci::resource_error&) {
              ++thrown;
            }
          }
        };
        for (const size_t size : sizes_refused) {
          target.allocator.refused = size;
          env.barrier_at_rest();
          std::vector<std::vector<char>> out;
          std::vector<lci::status_t> ends;
          for (const size_t each : {size_t{20}, size, size_t{30'000}, size_t{21}, size, size_t{22}}) {
            const lci::tag_t tag = out.size();
            out.push_back(message(each, tag));
            lci::status_t s;
            until([&] {
              s = lci::post_am_x(env.right(), out.back().data(), each, sync, target.right)
                      .tag(tag)
                      .stream(stream)
                      .comp_semantic(acked && each == size ? lci::comp_semantic_t::remote
                                                           : lci::comp_semantic_t::memory)
                      .runtime(env.rt)();
              return !s.is_retry();
            });
            if (s.is_posted()) until([&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
            if (acked && each == size)
              EXPECT_EQ(s.error, lci::errorcode_t::no_memory);
            else  // the sender of a large message waits for its target in any case
              EXPECT(s.is_done() || (each == size && s.error == lci::errorcode_t::no_memory));
            // The left rank's message of this size goes to this rank and ends as this one.
            if (each == size && s.error != lci::errorcode_t::no_memory) ++unreported;
          }
          for (const lci::tag_t tag : {0, 2, 3, 5}) {
            lci::status_t s;
            until([&] { return (s = lci::cq_pop_x(target.queue).runtime(env.rt)()).is_done(); });
            EXPECT_EQ(s.tag, tag);
            EXPECT(matches(s.buffer, s.size, tag));
            target.allocator.deallocate(s.buffer);
          }
          lost += 2;
          EXPECT_EQ(counted(env, env.left()).messages, lost);
          // A progress thread counts a loss before it stores the exception, which a poll of this thread throws.
          until([&] { return thrown >= unreported; });
          EXPECT_EQ(thrown, unreported);
        }
        lci::free_stream_x(&stream).runtime(env.rt)();
        lci::free_comp_x(&sync).runtime(env.rt)();
        env.barrier();
      },
      count_messages);
}

TEST_CASE("progress throws if a message is lost for lack of memory and its sender can't be notified",
          "[am][allocator]") {
  on_ranks(
      [](rank_env& env) {
        choosy_target target(env);
        const auto out = message(3000, 5);
        target.allocator.refused = out.size();
        env.barrier();
        // To itself, so that this rank's progress() throws the exception.
        const auto s = lci::post_am_x(env.rank, out.data(), out.size(), lci::COMP_NULL, target.mine).runtime(env.rt)();
        EXPECT(s.is_done());
        std::string text;
        while (text.empty()) {
          try {
            lci::progress_x().runtime(env.rt)();
          } catch (const lci::resource_error& e) {
            text = e.what();
          }
        }
        EXPECT(text.find("3000 bytes") != std::string::npos);
        EXPECT(text.find("rank " + std::to_string(env.rank)) != std::string::npos);
        EXPECT_EQ(counted(env, env.rank).messages, 1u);
        env.barrier();
      },
      count_messages);
}
