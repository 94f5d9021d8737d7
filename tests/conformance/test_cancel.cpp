// Operations that are cancelled: each ends once, does not access its buffer afterwards, and blocks no other
// operation.
#include <malloc.h>

#include <atomic>
#include <thread>

#include "tests/conformance/cancelling.hpp"

using namespace conf;
using lci::errorcode_t;

namespace {

std::atomic<int> handled{0}, handled_cancelled{0};
void count_handled(lci::status_t s) {
  if (s.error == errorcode_t::cancelled) ++handled_cancelled;
  ++handled;
}

}  // namespace

TEST_CASE("only operations in flight get names, which become invalid when they end", "[cancel]") {
  on_ranks([](rank_env& env) {
    EXPECT(!lci::cancel(lci::operation_t()));
    lci::operation_t name{&env, 3};
    const char byte = 1;
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const auto s =
        env.post([&] { return lci::post_send_x(env.rank, &byte, 1, 5, sync).operation(&name).runtime(env.rt)(); });
    EXPECT(s.is_done());
    EXPECT(name.is_empty());
    char in = 0;
    std::vector<lci::operation_t> old;
    env.until("the message to oneself", [&] {
      lci::status_t r = lci::post_recv_x(env.rank, &in, 1, 5, sync).operation(&name).deadline(60).runtime(env.rt)();
      if (r.is_posted()) {
        EXPECT(!name.is_empty());
        old.push_back(name);
        return finished(env, sync, r).is_done();
      }
      EXPECT(name.is_empty());
      return r.is_done();
    });
    // More uses than a small generation counter has values.
    for (int i = 0; i < 2000; ++i) {
      lci::post_recv_x(env.rank, &in, 1, 6, sync).operation(&name).runtime(env.rt)();
      for (const auto stale : old) EXPECT(!lci::cancel(stale));
      EXPECT(lci::cancel(name));
      lci::status_t r;
      r = finished(env, sync, errorcode_t::posted);
      EXPECT_EQ(r.error, errorcode_t::cancelled);
      if (i % 500 == 0) old.push_back(name);
    }
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("operations that one thread posts and others end need no memory for each", "[cancel][threads]") {
  on_ranks([](rank_env& env) {
    constexpr size_t at_once = 1000;
    char in = 0;
    auto sync = lci::alloc_sync_x().threshold(at_once).runtime(env.rt)();
    std::vector<lci::operation_t> names(at_once);
    std::atomic<int> not_cancelled{0};
    size_t before = 0;
    for (int round = 0; round < 20; ++round) {
      for (lci::operation_t& name : names)
        lci::post_recv_x(env.rank, &in, 1, 7, sync).operation(&name).runtime(env.rt)();
      std::thread([&] {
        for (const lci::operation_t name : names) not_cancelled += lci::cancel(name) ? 0 : 1;
      }).join();
      lci::sync_wait_x(sync, nullptr).runtime(env.rt)();
      if (round == 3) before = mallinfo2().uordblks;
    }
    EXPECT_EQ(not_cancelled.load(), 0);
    EXPECT(mallinfo2().uordblks < before + (size_t{1} << 20));
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("puts, gets and atomics do not access their buffers after they were cancelled", "[cancel]") {
  on_ranks(
      [](rank_env& env) {
        const size_t size = 10 * small_chunk;
        window w(env, size + 8);
        env.barrier();
        end_queue ended(env);
        int early = 0;
        for (const size_t n : {size_t{8}, size_t{5000}, size}) {
          for (int round = 0; round < 10; ++round) {
            std::vector<char> out = message(n, 1), in(n, '\x11');
            uint64_t result = 77;
            const uint64_t one = 1;
            lci::operation_t names[3];
            lci::status_t s[3];
            s[0] = lci::post_put_x(env.right(), out.data(), n, ended.comp(), 0, w.of(env.right()))
                       .operation(&names[0])
                       .user_context(&names[0])
                       .allow_retry(false)
                       .runtime(env.rt)();
            s[1] = lci::post_get_x(env.right(), in.data(), n, ended.comp(), 0, w.of(env.right()))
                       .operation(&names[1])
                       .user_context(&names[1])
                       .allow_retry(false)
                       .runtime(env.rt)();
            s[2] = lci::post_atomic_x(env.right(), lci::atomic_op_t::add, &one, &result, ended.comp(), size,
                                      w.of(env.right()))
                       .operation(&names[2])
                       .user_context(&names[2])
                       .allow_retry(false)
                       .runtime(env.rt)();
            int posted = 0;
            for (int k = 0; k < 3; ++k) posted += s[k].is_posted();
            for (int k = 0; k < round; ++k) env.progress();
            for (int k = 0; k < 3; ++k) {
              EXPECT_EQ(s[k].is_posted(), !names[k].is_empty());
              lci::cancel(names[k]);
            }
            bool cancelled[3] = {};
            for (; posted > 0; --posted) {
              const auto e = ended.next();
              EXPECT(e.is_done() || e.error == errorcode_t::cancelled);
              cancelled[static_cast<lci::operation_t*>(e.user_context) - names] = !e.is_done();
              early += !e.is_done();
            }
            if (cancelled[0]) out.assign(n, '\x22');
            if (cancelled[1]) in.assign(n, '\x33');
            if (cancelled[2]) result = 99;
            drain(env);
            if (cancelled[1]) EXPECT(in == std::vector<char>(n, '\x33'));
            if (cancelled[2]) EXPECT_EQ(result, 99u);
          }
        }
        EXPECT(ended.empty());
        EXPECT(early >= 0);
        env.barrier();
        env.barrier();
      },
      with_small_chunks);
}

TEST_CASE("operations in the backlog can be cancelled", "[cancel]") {
  on_ranks(
      [](rank_env& env) {
        constexpr size_t n = 400;
        const size_t size = 3000;
        window w(env, size);
        env.barrier();
        end_queue ended(env);
        std::vector<lci::operation_t> names(n);
        std::vector<int> ends(n, 0);
        auto out = message(size, 1);
        int posted = 0, not_in_time = 0;
        for (size_t i = 0; i < n; ++i) {
          lci::status_t s;
          if (i % 2 == 0)
            s = lci::post_put_x(env.right(), out.data(), size, ended.comp(), 0, w.of(env.right()))
                    .operation(&names[i])
                    .user_context(&ends[i])
                    .allow_retry(false)
                    .runtime(env.rt)();
          else
            s = lci::post_send_x(env.right(), out.data(), size, 9, ended.comp())
                    .comp_semantic(lci::comp_semantic_t::network)
                    .operation(&names[i])
                    .user_context(&ends[i])
                    .allow_retry(false)
                    .runtime(env.rt)();
          EXPECT(s.is_done() || s.is_posted());
          posted += s.is_posted();
          if (!s.is_posted()) ends[i] = 1;
        }
        for (size_t i = n; i-- > 0;) lci::cancel(names[i]);
        for (int i = 0; i < posted; ++i) {
          const auto s = ended.next();
          EXPECT(s.is_done() || s.error == errorcode_t::cancelled);
          not_in_time += s.is_done();
          ++*static_cast<int*>(s.user_context);
        }
        for (const int times : ends) EXPECT_EQ(times, 1);
        EXPECT(ended.empty());
        drain(env);
        env.barrier();
        // Those that were sent before they could be cancelled.
        std::vector<char> in(size);
        for (;;) {
          const auto r =
              lci::post_recv_x(env.left(), in.data(), size, 9, lci::COMP_NULL).deadline(0.05).runtime(env.rt)();
          if (ended_early(r)) break;
          EXPECT(r.is_done());
        }
        env.barrier();
      },
      [](lci::global_attr_t& attr) { attr.npackets = 64; });
}

TEST_CASE("all kinds of completion objects are signalled by a cancelled operation", "[cancel]") {
  on_ranks([](rank_env& env) {
    char in;
    lci::operation_t name;
    const auto post = [&](lci::comp_t comp) {
      const auto s = lci::post_recv_x(env.left(), &in, 1, 3, comp).operation(&name).runtime(env.rt)();
      EXPECT(s.is_posted());
      EXPECT(lci::cancel(name));
    };
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    post(sync);
    lci::status_t s;
    EXPECT(lci::sync_test_x(sync, &s).runtime(env.rt)());
    EXPECT_EQ(s.error, errorcode_t::cancelled);
    auto counter = lci::alloc_counter_x().runtime(env.rt)();
    post(counter);
    EXPECT_EQ(lci::counter_get_x(counter).runtime(env.rt)(), 1);
    auto handler = lci::alloc_handler_x(count_handled).runtime(env.rt)();
    const int before = handled.load();
    post(handler);
    EXPECT(handled.load() > before);
    EXPECT(handled_cancelled.load() > 0);
    for (auto comp : {&sync, &counter, &handler}) lci::free_comp_x(comp).runtime(env.rt)();
    env.barrier();
  });
}

namespace {

struct chain {
  lci::operation_t names[2];
  char in[2] = {};
  std::atomic<int> ended{0};
};
chain chains[64];

/// Cancels the other receive, whose handler must not run within this call.
void cancels_the_other(lci::status_t s) {
  chain& c = chains[rank_env::mine().rank];
  thread_local bool inside = false;
  if (inside) c.ended = 1000;
  inside = true;
  lci::cancel(c.names[1 - (static_cast<char*>(s.user_context) - c.in)]);
  inside = false;
  ++c.ended;
}

}  // namespace

TEST_CASE("a handler may cancel operations, and is not called recursively", "[cancel]") {
  on_ranks([](rank_env& env) {
    chain& c = chains[env.rank];
    c.ended = 0;
    auto handler = lci::alloc_handler_x(cancels_the_other).runtime(env.rt)();
    for (int i = 0; i < 2; ++i)
      lci::post_recv_x(env.left(), &c.in[i], 1, 3, handler)
          .operation(&c.names[i])
          .user_context(&c.in[i])
          .runtime(env.rt)();
    EXPECT(lci::cancel(c.names[0]));
    env.until("both handlers", [&] { return c.ended.load() >= 2; });
    for (int i = 0; i < 100; ++i) env.progress();
    EXPECT_EQ(c.ended.load(), 2);
    lci::free_comp_x(&handler).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("operations on layouts can be cancelled", "[cancel]") {
  on_ranks([](rank_env& env) {
    const size_t pieces = 200, piece = 1000, size = pieces * piece;
    std::vector<char> data(2 * size);
    const size_t counts[] = {piece, pieces}, strides[] = {2 * piece};
    const lci::layout_t layout = lci::layout_t::strided(counts, strides, 1);
    end_queue ended(env);
    lci::operation_t name;
    EXPECT(lci::post_recv_x(env.left(), data.data(), size, 3, ended.comp())
               .layout(&layout)
               .operation(&name)
               .runtime(env.rt)()
               .is_posted());
    EXPECT(lci::cancel(name));
    auto s = ended.next();
    EXPECT_EQ(s.error, errorcode_t::cancelled);
    EXPECT(s.buffer == data.data());
    env.post([&] {
      return lci::post_send_x(env.right(), data.data(), size, 3, ended.comp())
          .layout(&layout)
          .operation(&name)
          .runtime(env.rt)();
    });
    EXPECT(lci::cancel(name));
    EXPECT_EQ(ended.next().error, errorcode_t::cancelled);
    drain(env);
    env.barrier();
    window w(env, 2 * size);
    env.barrier();
    for (int round = 0; round < 6; ++round) {
      s = env.post([&] {
        return lci::post_put_x(env.right(), data.data(), size, ended.comp(), 0, w.of(env.right()))
            .layout(&layout)
            .remote_layout(&layout)
            .operation(&name)
            .runtime(env.rt)();
      });
      for (int i = 0; i < round; ++i) env.progress();
      EXPECT_EQ(s.is_posted(), !name.is_empty());
      lci::cancel(name);
      if (s.is_posted()) s = ended.next();
      EXPECT(s.is_done() || s.error == errorcode_t::cancelled);
    }
    EXPECT(ended.empty());
    drain(env);
    env.barrier();
  });
}

TEST_CASE("a device may be freed while named operations wait", "[cancel]") {
  on_ranks([](rank_env& env) {
    auto other = lci::alloc_device_x().runtime(env.rt)();
    end_queue ended(env);
    const size_t size = rendezvous_size(env);
    std::vector<char> out(size), in(size);
    lci::operation_t receive, send;
    lci::post_recv_x(env.left(), in.data(), size, 8, ended.comp())
        .device(other)
        .operation(&receive)
        .deadline(100)
        .runtime(env.rt)();
    env.post(other, [&] {
      return lci::post_send_x(env.right(), out.data(), size, 3, ended.comp())
          .device(other)
          .operation(&send)
          .deadline(100)
          .runtime(env.rt)();
    });
    env.barrier();
    lci::free_device_x(&other).runtime(env.rt)();
    EXPECT(!lci::cancel(send));
    auto s = ended.next();
    EXPECT_EQ(s.error, errorcode_t::cancelled);
    EXPECT(s.buffer == out.data());
    EXPECT(lci::cancel(receive));
    s = ended.next();
    EXPECT_EQ(s.error, errorcode_t::cancelled);
    EXPECT(s.buffer == in.data());
    EXPECT(ended.empty());
    env.barrier();
  });
}

TEST_CASE("threads cancel while messages arrive: each operation ends once", "[cancel]") {
  on_ranks([](rank_env& env) {
    constexpr int threads = 4, per_thread = 300;
    const size_t sizes[] = {8, 2000, rendezvous_size(env)};
    struct slot {
      std::atomic<int> ends{0};
    };
    std::vector<slot> slots(threads * per_thread);
    std::atomic<int> received{0};
    std::vector<end_queue*> queues;
    for (int t = 0; t < threads; ++t) queues.push_back(new end_queue(env));
    env.parallel(threads, [&](int t) {
      // Even threads post receives and odd threads post sends; both cancel.
      end_queue& ended = *queues[static_cast<size_t>(t)];
      const bool receives = t % 2 == 0;
      std::vector<char> data(rendezvous_size(env), static_cast<char>(t));
      for (int i = 0; i < per_thread; ++i) {
        const size_t size = sizes[i % 3];
        const auto tag = static_cast<lci::tag_t>(50 + t / 2);
        slot& mine = slots[static_cast<size_t>(t * per_thread + i)];
        lci::operation_t name;
        const auto s = env.post([&] {
          return receives ? lci::post_recv_x(env.left(), data.data(), size, tag, ended.comp())
                                .operation(&name)
                                .deadline(i % 5 == 0 ? 0.0005 : -1)
                                .user_context(&mine)
                                .runtime(env.rt)()
                          : lci::post_send_x(env.right(), data.data(), size, tag, ended.comp())
                                .operation(&name)
                                .deadline(i % 7 == 0 ? 0.0005 : -1)
                                .user_context(&mine)
                                .runtime(env.rt)();
        });
        if (!s.is_posted()) {
          ++mine.ends;
          continue;
        }
        for (int k = 0; k < i % 6; ++k) env.progress();
        lci::cancel(name);
        const auto e = ended.next();
        EXPECT(e.is_done() || ended_early(e));
        static_cast<slot*>(e.user_context)->ends.fetch_add(1);
        received += receives && e.is_done();
      }
    });
    for (const slot& s : slots) EXPECT_EQ(s.ends.load(), 1);
    for (end_queue* q : queues) EXPECT(q->empty());
    env.barrier();
    // Messages that were not received.
    std::vector<char> data(rendezvous_size(env));
    for (const lci::tag_t tag : {50u, 51u})
      while (!ended_early(lci::post_recv_x(env.left(), data.data(), data.size(), tag, lci::COMP_NULL)
                              .deadline(0.1)
                              .runtime(env.rt)())) {
      }
    drain(env);
    env.barrier();
    for (end_queue* q : queues) delete q;
  });
}

TEST_CASE("if many threads cancel an operation, cancel() returns true for one of them", "[cancel]") {
  on_ranks([](rank_env& env) {
    end_queue ended(env);
    constexpr int threads = 4, rounds = 100;
    std::vector<char> out(rendezvous_size(env));
    for (int i = 0; i < rounds; ++i) {
      lci::operation_t name;
      char in;
      if (i % 2 == 0)
        lci::post_recv_x(env.left(), &in, 1, 3, ended.comp()).operation(&name).runtime(env.rt)();
      else
        env.post([&] {
          return lci::post_send_x(env.right(), out.data(), out.size(), 4, ended.comp())
              .operation(&name)
              .runtime(env.rt)();
        });
      std::atomic<int> first{0};
      env.parallel(threads, [&](int) { first += lci::cancel(name); });
      EXPECT_EQ(first.load(), 1);
      EXPECT_EQ(ended.next().error, errorcode_t::cancelled);
    }
    EXPECT(ended.empty());
    drain(env);
    env.barrier();
  });
}
