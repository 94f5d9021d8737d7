// Messages that are cancelled at either end: the operations of both ends end, with the same result.
#include <cstdlib>

#include "tests/conformance/cancelling.hpp"

using namespace conf;
using lci::errorcode_t;

TEST_CASE("the message of a cancelled receive matches the next receive", "[cancel]") {
  on_ranks([](rank_env& env) {
    const size_t sizes[] = {8, 3000, rendezvous_size(env)};
    for (const size_t size : sizes) {
      end_queue ended(env);
      guarded first(size), second(size);
      lci::operation_t name;
      int context = 0;
      auto s = lci::post_recv_x(env.left(), first.data(), size, 7, ended.comp())
                   .operation(&name)
                   .user_context(&context)
                   .runtime(env.rt)();
      EXPECT(s.is_posted());
      EXPECT(!name.is_empty());
      EXPECT(lci::cancel(name));
      EXPECT(!lci::cancel(name));
      s = ended.next();
      EXPECT_EQ(s.error, errorcode_t::cancelled);
      EXPECT(!s.is_done() && !s.is_retry() && !s.is_posted());
      EXPECT_EQ(s.rank, env.left());
      EXPECT_EQ(s.size, 0u);
      EXPECT(s.buffer == first.data());
      EXPECT(s.user_context == &context);
      env.barrier();
      const auto out = message(size, static_cast<uint64_t>(env.rank));
      end_queue sent(env);
      const auto send =
          env.post([&] { return lci::post_send_x(env.right(), out.data(), size, 7, sent.comp()).runtime(env.rt)(); });
      auto r = lci::post_recv_x(env.left(), second.data(), size, 7, ended.comp()).runtime(env.rt)();
      if (r.is_posted()) r = ended.next();
      EXPECT(r.is_done());
      EXPECT(matches(second.data(), size, static_cast<uint64_t>(env.left())));
      EXPECT(first.intact(0));
      if (send.is_posted()) EXPECT(sent.next().is_done());
      EXPECT(ended.empty());
      drain(env);
      env.barrier();
    }
  });
}

TEST_CASE("one of several receives with the same key is cancelled", "[cancel]") {
  on_ranks([](rank_env& env) {
    constexpr int n = 9;
    end_queue ended(env);
    char in[n] = {};
    lci::operation_t names[n];
    for (int i = 0; i < n; ++i)
      lci::post_recv_x(env.left(), &in[i], 1, 5, ended.comp())
          .operation(&names[i])
          .user_context(&in[i])
          .runtime(env.rt)();
    for (const int i : {0, 4, 8}) {
      EXPECT(lci::cancel(names[i]));
      const auto s = ended.next();
      EXPECT_EQ(s.error, errorcode_t::cancelled);
      EXPECT(s.user_context == &in[i]);
    }
    env.barrier();
    for (int i = 0; i < n - 3; ++i) {
      const char byte = 'x';
      env.post([&] { return lci::post_send_x(env.right(), &byte, 1, 5, lci::COMP_NULL_RETRY).runtime(env.rt)(); });
    }
    for (int i = 0; i < n - 3; ++i) EXPECT(ended.next().is_done());
    for (int i = 0; i < n; ++i) EXPECT_EQ(in[i], i % 4 == 0 ? '\0' : 'x');
    for (const auto name : names) EXPECT(!lci::cancel(name));
    EXPECT(ended.empty());
    env.barrier();
  });
}

TEST_CASE("a send without a matching receive is cancelled and its message withdrawn", "[cancel]") {
  const bool acked = GENERATE(false, true);
  const bool by_deadline = GENERATE(false, true);
  on_ranks([=](rank_env& env) {
    const size_t size = rendezvous_size(env);
    end_queue sent(env), received(env);
    auto unwanted = message(size, 100), wanted = message(size, static_cast<uint64_t>(env.rank));
    lci::operation_t name;
    auto post = lci::post_send_x(env.right(), unwanted.data(), size, 7, sent.comp()).operation(&name).runtime(env.rt);
    if (acked) post.comp_semantic(lci::comp_semantic_t::remote);
    if (by_deadline) post.deadline(0.01);
    env.post([&] { return post(); });
    if (!by_deadline) EXPECT(lci::cancel(name));
    const auto s = sent.next();
    EXPECT_EQ(s.error, by_deadline ? errorcode_t::timed_out : errorcode_t::cancelled);
    EXPECT_EQ(s.rank, env.right());
    unwanted = std::vector<char>(size, '\xff');  // the buffer may be written again
    drain(env);                                  // the peer has answered
    env.barrier();
    guarded in(size);
    auto r = lci::post_recv_x(env.left(), in.data(), size, 7, received.comp()).runtime(env.rt)();
    env.post([&] { return lci::post_send_x(env.right(), wanted.data(), size, 7, sent.comp()).runtime(env.rt)(); });
    r = r.is_posted() ? received.next() : r;
    EXPECT(r.is_done());
    EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.left())));
    EXPECT(sent.next().is_done());
    EXPECT(sent.empty());
    drain(env);
    env.barrier();
  });
}

TEST_CASE("a send and its receive have the same result, whenever the send is cancelled", "[cancel]") {
  const bool acked = GENERATE(false, true);
  on_ranks(
      [acked](rank_env& env) {
        const size_t size = rendezvous_size(env);
        for (int rounds = 0; rounds < 40; ++rounds) {
          end_queue sent(env), received(env);
          auto out = message(size, static_cast<uint64_t>(env.rank));
          guarded in(size);
          env.post([&] { return lci::post_recv_x(env.left(), in.data(), size, 7, received.comp()).runtime(env.rt)(); });
          env.barrier();
          lci::operation_t name;
          auto post = lci::post_send_x(env.right(), out.data(), size, 7, sent.comp()).operation(&name).runtime(env.rt);
          if (acked) post.comp_semantic(lci::comp_semantic_t::remote);
          env.post([&] { return post(); });
          for (int i = 0; i < rounds; ++i) env.progress();
          lci::cancel(name);
          const auto s = sent.next();
          EXPECT(s.is_done() || s.error == errorcode_t::cancelled);
          if (!s.is_done()) out = std::vector<char>(size, '\xff');
          const auto r = received.next();
          EXPECT(r.is_done() || r.error == errorcode_t::cancelled);
          if (r.is_done()) {
            EXPECT_EQ(r.size, size);
            EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.left())));
          }
          EXPECT(in.intact(size));
          drain(env);
          // Nothing is under way after this exchange, so all ends have been signalled.
          const auto ends = env.all_gather(static_cast<int>(s.is_done()));
          const bool its_end = ends[static_cast<size_t>(env.left())] != 0;
          // A message may arrive although its send was cancelled only if the sender waits for an acknowledgement.
          if (!acked || its_end) EXPECT_EQ(r.is_done(), its_end);
          EXPECT(sent.empty_now() && received.empty_now());
        }
      },
      with_small_chunks);
}

TEST_CASE("a receive that is cancelled during its transfer ends once", "[cancel]") {
  on_ranks(
      [](rank_env& env) {
        const size_t size = 12 * small_chunk;
        for (int rounds = 0; rounds < 30; ++rounds) {
          end_queue sent(env), received(env);
          const auto out = message(size, static_cast<uint64_t>(env.rank));
          guarded in(size);
          lci::operation_t name;
          env.post([&] { return lci::post_send_x(env.right(), out.data(), size, 7, sent.comp()).runtime(env.rt)(); });
          const auto posted =
              lci::post_recv_x(env.left(), in.data(), size, 7, received.comp()).operation(&name).runtime(env.rt)();
          EXPECT(posted.is_posted());
          for (int i = 0; i < rounds; ++i) env.progress();
          lci::cancel(name);
          auto r = received.next();
          EXPECT(r.is_done() || r.error == errorcode_t::cancelled);
          if (r.is_done()) EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.left())));
          env.barrier();
          // If the receive had not matched yet, its message is still unexpected.
          const auto s_now = lci::cq_pop_x(sent.comp()).runtime(env.rt)();
          const auto open = env.all_gather(static_cast<int>(s_now.is_retry()));
          if (open[static_cast<size_t>(env.left())] != 0) {
            lci::status_t again;
            in.clear();
            again = lci::post_recv_x(env.left(), in.data(), size, 7, lci::COMP_NULL).deadline(0.5).runtime(env.rt)();
            EXPECT(again.is_done() || again.error == errorcode_t::timed_out);
          }
          const auto s = s_now.is_retry() ? sent.next() : s_now;
          EXPECT(s.is_done() || s.error == errorcode_t::cancelled);
          EXPECT(sent.empty() && received.empty());
          drain(env);
          env.barrier();
        }
      },
      with_small_chunks);
}

TEST_CASE("a large active message that is cancelled arrives whole or not at all", "[cancel]") {
  on_ranks([](rank_env& env) {
    const size_t size = rendezvous_size(env);
    end_queue sent(env), arrived(env);
    const auto mine = lci::register_rcomp_x(arrived.comp()).runtime(env.rt)();
    const auto rcomp = env.all_gather(mine)[static_cast<size_t>(env.right())];
    constexpr int n = 30;
    int done = 0;
    for (int i = 0; i < n; ++i) {
      auto out = message(size, static_cast<uint64_t>(env.rank));
      lci::operation_t name;
      env.post([&] {
        return lci::post_am_x(env.right(), out.data(), size, sent.comp(), rcomp).operation(&name).runtime(env.rt)();
      });
      for (int k = 0; k < i % 10; ++k) env.progress();
      lci::cancel(name);
      const auto s = sent.next();
      EXPECT(s.is_done() || s.error == errorcode_t::cancelled);
      done += s.is_done();
    }
    drain(env);
    const auto all_done = env.all_gather(done);
    for (int i = 0; i < all_done[static_cast<size_t>(env.left())]; ++i) {
      const auto r = arrived.next();
      EXPECT_EQ(r.size, size);
      EXPECT(matches(r.buffer, size, static_cast<uint64_t>(env.left())));
      std::free(r.buffer);
    }
    EXPECT(arrived.empty());
    env.barrier();
    lci::deregister_rcomp_x(mine).runtime(env.rt)();
  });
}

TEST_CASE("a send that waits for its acknowledgement can be cancelled", "[cancel]") {
  const bool by_deadline = GENERATE(false, true);
  on_ranks([by_deadline](rank_env& env) {
    end_queue sent(env);
    for (const size_t size : {size_t{8}, size_t{2000}}) {
      const auto out = message(size, static_cast<uint64_t>(env.rank));
      lci::operation_t name;
      auto post = lci::post_send_x(env.right(), out.data(), size, 7, sent.comp())
                      .comp_semantic(lci::comp_semantic_t::remote)
                      .operation(&name)
                      .runtime(env.rt);
      if (by_deadline) post.deadline(0.01);
      env.post([&] { return post(); });
      if (!by_deadline) EXPECT(lci::cancel(name));
      EXPECT_EQ(sent.next().error, by_deadline ? errorcode_t::timed_out : errorcode_t::cancelled);
      env.barrier();
      // The message had been sent: it is not lost, and its late acknowledgement is ignored.
      std::vector<char> in(size);
      const auto r = lci::post_recv_x(env.left(), in.data(), size, 7, lci::COMP_NULL).runtime(env.rt)();
      EXPECT(r.is_done());
      EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.left())));
      drain(env);
      EXPECT(sent.empty());
      env.barrier();
    }
  });
}

TEST_CASE("a cancelled message of a stream does not block those behind it", "[cancel]") {
  const bool acked = GENERATE(false, true);
  on_ranks([acked](rank_env& env) {
    const size_t size = rendezvous_size(env);
    end_queue sent(env), arrived(env);
    const auto mine = lci::register_rcomp_x(arrived.comp()).runtime(env.rt)();
    const auto rcomp = env.all_gather(mine)[static_cast<size_t>(env.right())];
    auto stream = lci::alloc_stream_x().runtime(env.rt)();
    constexpr int n = 40;
    int done = 0, posted = 0;
    std::vector<std::vector<char>> out(n);
    for (int i = 0; i < n; ++i) {
      auto& data = out[static_cast<size_t>(i)] = message(i % 2 == 0 ? size : 100, 1);
      lci::operation_t name;
      auto post = lci::post_am_x(env.right(), data.data(), data.size(), sent.comp(), rcomp)
                      .stream(stream)
                      .tag(static_cast<lci::tag_t>(i))
                      .operation(&name)
                      .runtime(env.rt);
      if (acked) post.comp_semantic(lci::comp_semantic_t::remote);
      const auto s = env.post([&] { return post(); });
      posted += s.is_posted();
      done += s.is_done();
      for (int k = 0; k < i % 7; ++k) env.progress();
      if (i % 4 == 0) lci::cancel(name);
    }
    int early = 0;
    for (; posted > 0; --posted) {
      const auto s = sent.next();
      EXPECT(s.is_done() || ended_early(s));
      (s.is_done() ? done : early) += 1;
    }
    EXPECT_EQ(done + early, n);
    drain(env);
    const auto all_early = env.all_gather(early);
    const int lost = all_early[static_cast<size_t>(env.left())];
    lci::tag_t next = 0;
    const auto take = [&](const lci::status_t& r) {
      EXPECT(r.is_done() && r.tag >= next);
      EXPECT(matches(r.buffer, r.size, 1));
      next = r.tag + 1;
      std::free(r.buffer);
    };
    for (int i = 0; i < n - lost; ++i) take(arrived.next());
    env.barrier();
    // A message whose sender stopped waiting for the acknowledgement may have arrived, too.
    for (int i = 0; i < 100; ++i) env.progress();
    for (lci::status_t r; (r = lci::cq_pop_x(arrived.comp()).runtime(env.rt)()).is_done();) {
      EXPECT(acked);
      take(r);
    }
    env.barrier();
    lci::free_stream_x(&stream).runtime(env.rt)();
    lci::deregister_rcomp_x(mine).runtime(env.rt)();
  });
}
