// Messages that arrive before the target has allocated their matching engine.
#include "tests/conformance/cancelling.hpp"

using namespace conf;
using lci::errorcode_t;

namespace {

lci::matching_engine_t allocate_engine(rank_env& env) {
  return lci::alloc_matching_engine_x()
      .make_key([](int, lci::tag_t tag, lci::matching_policy_t) -> lci::matching_entry_key_t { return tag / 10; })
      .runtime(env.rt)();
}

void let_messages_arrive(rank_env& env) {
  env.barrier();
  for (int i = 0; i < 100; ++i) env.progress();
  env.barrier();
}

}  // namespace

TEST_CASE("a message that arrives before its matching engine is allocated matches a later receive", "[matching]") {
  const bool acked = GENERATE(false, true);
  INFO("remote completion: " << acked);
  on_ranks([acked](rank_env& env) {
    const size_t sizes[] = {0, 8, 3000, rendezvous_size(env)};
    for (const size_t size : sizes) {
      lci::matching_engine_t engine;
      end_queue sent(env), received(env);
      const auto out = message(size, size);
      if (env.rank == 0) {
        engine = allocate_engine(env);
        for (int to = 0; to < env.size; ++to) {
          const auto s = env.post([&] {
            return lci::post_send_x(to, out.data(), size, 28, sent.comp())
                .comp_semantic(acked ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory)
                .matching_engine(engine)
                .allow_done(false)
                .runtime(env.rt)();
          });
          EXPECT(s.is_posted());
        }
      }
      let_messages_arrive(env);
      if (env.rank != 0) engine = allocate_engine(env);
      guarded in(size);
      auto r = lci::post_recv_x(0, in.data(), size, 21, received.comp()).matching_engine(engine).runtime(env.rt)();
      if (r.is_posted()) r = received.next();
      EXPECT(r.is_done());
      EXPECT_EQ(r.tag, lci::tag_t{28});
      EXPECT_EQ(r.size, size);
      EXPECT(matches(in.data(), size, size));
      if (env.rank == 0)
        for (int to = 0; to < env.size; ++to) EXPECT(sent.next().is_done());
      drain(env);
      env.barrier();
      lci::free_matching_engine_x(&engine).runtime(env.rt)();
      env.barrier();  // the next engine has the same number
    }
  });
}

TEST_CASE("a message that arrives before its matching engine is allocated can be cancelled", "[matching][cancel]") {
  if (rank_count() == 1) LCI_SKIP("a single rank has no peer");
  on_ranks([](rank_env& env) {
    const size_t size = rendezvous_size(env);
    lci::matching_engine_t engine;
    end_queue ended(env);
    const auto out = message(size, 1);
    if (env.rank == 0) {
      engine = allocate_engine(env);
      std::vector<lci::operation_t> names(static_cast<size_t>(env.size));
      for (int to = 1; to < env.size; ++to)
        env.post([&] {
          return lci::post_send_x(to, out.data(), size, 20, ended.comp())
              .operation(&names[static_cast<size_t>(to)])
              .matching_engine(engine)
              .runtime(env.rt)();
        });
      let_messages_arrive(env);
      for (int to = 1; to < env.size; ++to) EXPECT(lci::cancel(names[static_cast<size_t>(to)]));
      for (int to = 1; to < env.size; ++to) EXPECT_EQ(ended.next().error, errorcode_t::cancelled);
      drain(env);  // the targets have withdrawn the messages, so no receive matches them
      env.barrier();
    } else {
      let_messages_arrive(env);
      env.barrier();
      engine = allocate_engine(env);
      char in;
      lci::operation_t name;
      auto r = lci::post_recv_x(0, &in, 1, 20, ended.comp()).operation(&name).matching_engine(engine).runtime(env.rt)();
      EXPECT(r.is_posted());
      EXPECT(lci::cancel(name));
      EXPECT_EQ(ended.next().error, errorcode_t::cancelled);
    }
    drain(env);
    env.barrier();
    lci::free_matching_engine_x(&engine).runtime(env.rt)();
  });
}

TEST_CASE("a receive that matches a message whose send was cancelled meanwhile ends as cancelled",
          "[matching][cancel]") {
  if (rank_count() == 1) LCI_SKIP("a single rank has no peer");
  on_ranks([](rank_env& env) {
    const size_t size = rendezvous_size(env);
    end_queue ended(env);
    const auto out = message(size, 1);
    std::vector<lci::operation_t> names(static_cast<size_t>(env.size));
    for (int to = 1; env.rank == 0 && to < env.size; ++to)
      env.post([&] {
        return lci::post_send_x(to, out.data(), size, 20, ended.comp())
            .operation(&names[static_cast<size_t>(to)])
            .runtime(env.rt)();
      });
    let_messages_arrive(env);
    for (int to = 1; env.rank == 0 && to < env.size; ++to) EXPECT(lci::cancel(names[static_cast<size_t>(to)]));
    env.barrier_at_rest();  // without a progress thread the targets do not know of the cancel yet
    if (env.rank != 0) {
      char in;
      lci::operation_t name;
      auto r = lci::post_recv_x(0, &in, 1, 20, ended.comp()).operation(&name).runtime(env.rt)();
      EXPECT(r.is_posted());
      // The sender's answer ends the receive, also before this rank cancels it.
      for (int i = 0; i < 1000; ++i) lci::progress_x().runtime(env.rt)();
      lci::cancel(name);
      EXPECT(!lci::cancel(name));
    }
    const int n = env.rank == 0 ? env.size - 1 : 1;
    for (int i = 0; i < n; ++i) EXPECT_EQ(ended.next().error, errorcode_t::cancelled);
    EXPECT(ended.empty());
    drain(env);
    env.barrier();
  });
}

TEST_CASE("a send ends as cancelled if the target frees its device before it allocates the matching engine",
          "[matching][ends]") {
  if (rank_count() == 1) LCI_SKIP("a single rank has no peer");
  on_ranks([](rank_env& env) {
    auto device = lci::alloc_device_x().runtime(env.rt)();
    lci::barrier_x().device(device).runtime(env.rt)();  // connects the device to all ranks
    lci::matching_engine_t engine;
    auto ended = lci::alloc_cq_x().runtime(env.rt)();
    const auto out = message(rendezvous_size(env), 1);
    if (env.rank == 0) {
      engine = allocate_engine(env);
      for (int to = 1; to < env.size; ++to)
        env.post(device, [&] {
          return lci::post_send_x(to, out.data(), out.size(), 20, ended)
              .matching_engine(engine)
              .device(device)
              .runtime(env.rt)();
        });
    }
    env.barrier();
    for (int i = 0; i < 100; ++i) env.progress(device);
    env.barrier();
    if (env.rank != 0) lci::free_device_x(&device).runtime(env.rt)();
    for (int to = 1; env.rank == 0 && to < env.size; ++to) {
      lci::status_t s;
      env.until(device, "a target's answer", [&] { return !(s = lci::cq_pop_x(ended).runtime(env.rt)()).is_retry(); });
      EXPECT_EQ(s.error, errorcode_t::cancelled);
    }
    env.barrier();
    if (env.rank == 0) {
      lci::free_device_x(&device).runtime(env.rt)();
      lci::free_matching_engine_x(&engine).runtime(env.rt)();
    }
    lci::free_comp_x(&ended).runtime(env.rt)();
  });
}
