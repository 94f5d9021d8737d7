// Send and receive: expected and unexpected, any size, any completion object, truncation.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

constexpr lci::tag_t tag = 7;

lci::status_t send(rank_env& env, const std::vector<char>& out, lci::comp_t comp) {
  return env.post([&] { return lci::post_send_x(env.right(), out.data(), out.size(), tag, comp).runtime(env.rt)(); });
}
lci::status_t receive(rank_env& env, void* in, size_t size, lci::comp_t comp) {
  return env.post([&] { return lci::post_recv_x(env.left(), in, size, tag, comp).runtime(env.rt)(); });
}
/// The final status of an operation, which signals `box` if it was not done immediately.
lci::status_t final_status(inbox& box, lci::status_t s) { return s.is_done() ? s : box.collect().front().status; }

void expect_received(rank_env& env, const lci::status_t& s, void* buffer, size_t size) {
  EXPECT(s.error == lci::errorcode_t::done || s.error == lci::errorcode_t::done_backlog);
  EXPECT_EQ(s.rank, env.left());
  EXPECT_EQ(s.size, size);
  EXPECT_EQ(s.tag, tag);
  EXPECT(s.buffer == buffer);
}

}  // namespace

TEST_CASE("a receive gets a message of any size, whether it is posted before or after the send", "[sendrecv]") {
  const bool expected = GENERATE(true, false);
  INFO("receive posted first: " << expected);
  on_ranks(
      [expected](rank_env& env) {
        inbox sends(env, inbox_kind::queue_lcrq, 1, false);
        inbox receives(env, inbox_kind::queue_lcrq, 1, false);
        for (const size_t size : interesting_sizes(env)) {
          const auto out = message(size, size + static_cast<uint64_t>(env.rank));
          guarded in(size);
          lci::status_t sent, received;
          if (expected) {
            received = receive(env, in.data(), size, receives.comp());
            EXPECT(received.is_posted() || env.size == 1);
            env.barrier();  // all receives are posted before the first send
            sent = send(env, out, sends.comp());
          } else {
            sent = send(env, out, sends.comp());
            for (int i = 0; i < 20; ++i) env.progress();
            env.barrier();  // all sends have been posted before any receive
            received = receive(env, in.data(), size, receives.comp());
          }
          sent = final_status(sends, sent);
          EXPECT_EQ(sent.rank, env.right());
          EXPECT_EQ(sent.size, size);
          EXPECT_EQ(sent.tag, tag);
          received = final_status(receives, received);
          expect_received(env, received, in.data(), size);
          EXPECT(matches(in.data(), size, size + static_cast<uint64_t>(env.left())));
          EXPECT(in.intact(size));
          env.barrier();
          EXPECT(sends.empty() && receives.empty());
        }
      },
      with_small_chunks);
}

TEST_CASE("receives complete through any object", "[sendrecv]") {
  const auto kind = GENERATE(from_range(all_inbox_kinds()));
  const bool allow_done = GENERATE(true, false);
  INFO(name_of(kind) << ", allow_done " << allow_done);
  on_ranks([kind, allow_done](rank_env& env) {
    inbox box(env, kind, 1, false);
    int me = 0;
    for (const size_t size : {size_t{8}, size_t{2000}, size_t{70'000}}) {
      const auto out = message(size, static_cast<uint64_t>(env.rank));
      std::vector<char> in(size);
      auto received = env.post([&] {
        return lci::post_recv_x(env.left(), in.data(), size, tag, box.comp())
            .user_context(&me)
            .allow_done(allow_done)
            .runtime(env.rt)();
      });
      if (!allow_done) EXPECT(received.is_posted());
      EXPECT(send(env, out, lci::COMP_NULL).is_done());
      const bool told = received.is_done() || box.tells_status();
      received = final_status(box, received);
      if (told) {
        expect_received(env, received, in.data(), size);
        EXPECT(received.user_context == &me);
      }
      EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.left())));
      env.barrier();
      EXPECT(box.empty());
    }
  });
}

TEST_CASE("sends complete through any object", "[sendrecv]") {
  const auto kind = GENERATE(from_range(all_inbox_kinds()));
  const bool allow_done = GENERATE(true, false);
  INFO(name_of(kind) << ", allow_done " << allow_done);
  on_ranks([kind, allow_done](rank_env& env) {
    inbox box(env, kind, 1, false);
    int me = 0;
    for (const size_t size : {size_t{8}, size_t{2000}, size_t{70'000}}) {
      const auto out = message(size, static_cast<uint64_t>(env.rank));
      std::vector<char> in(size);
      auto sync = lci::alloc_sync_x().runtime(env.rt)();
      const auto received = receive(env, in.data(), size, sync);
      auto sent = env.post([&] {
        return lci::post_send_x(env.right(), out.data(), size, tag, box.comp())
            .user_context(&me)
            .allow_done(allow_done)
            .runtime(env.rt)();
      });
      if (!allow_done) EXPECT(sent.is_posted());
      const bool told = sent.is_done() || box.tells_status();
      sent = final_status(box, sent);
      if (told) {
        EXPECT(sent.is_done());
        EXPECT_EQ(sent.rank, env.right());
        EXPECT_EQ(sent.size, size);
        EXPECT(sent.user_context == &me);
      }
      if (received.is_posted()) lci::sync_wait_x(sync, nullptr).runtime(env.rt)();
      EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.left())));
      lci::free_comp_x(&sync).runtime(env.rt)();
      env.barrier();
      EXPECT(box.empty());
    }
  });
}

TEST_CASE("a message longer than its receive is truncated, as the status says, and nothing is written past the buffer",
          "[sendrecv]") {
  const bool expected = GENERATE(true, false);
  INFO("receive posted first: " << expected);
  on_ranks(
      [expected](rank_env& env) {
        inbox sends(env, inbox_kind::queue_lcrq, 1, false);
        inbox receives(env, inbox_kind::queue_lcrq, 1, false);
        const std::vector<std::pair<size_t, size_t>> message_and_room{
            {64, 8}, {64, 0}, {3000, 2999}, {150'000, 1000}, {150'000, 149'999}, {300'000, 0}};
        for (const auto& [size, room] : message_and_room) {
          const auto out = message(size, size + static_cast<uint64_t>(env.rank));
          guarded in(room);
          lci::status_t sent, received;
          if (expected) {
            received = receive(env, in.data(), room, receives.comp());
            env.barrier();
            sent = send(env, out, sends.comp());
          } else {
            sent = send(env, out, sends.comp());
            for (int i = 0; i < 20; ++i) env.progress();
            env.barrier();
            received = receive(env, in.data(), room, receives.comp());
          }
          received = final_status(receives, received);
          EXPECT_EQ(received.error, lci::error_t(lci::errorcode_t::done_truncated));
          EXPECT_EQ(received.size, room);
          EXPECT_EQ(received.rank, env.left());
          EXPECT(matches(in.data(), room, size + static_cast<uint64_t>(env.left())));
          EXPECT(in.intact(room));
          sent = final_status(sends, sent);
          EXPECT(sent.is_done());
          EXPECT_EQ(sent.size, size);
          env.barrier();
        }
      },
      with_small_chunks);
}

TEST_CASE("a receive larger than its message reports the message's size", "[sendrecv]") {
  on_ranks([](rank_env& env) {
    inbox receives(env, inbox_kind::queue_lcrq, 1, false);
    for (const size_t size : {size_t{0}, size_t{8}, size_t{3000}, size_t{150'000}}) {
      const auto out = message(size, 3);
      guarded in(200'000);
      auto received = receive(env, in.data(), in.size(), receives.comp());
      send(env, out, lci::COMP_NULL);
      received = final_status(receives, received);
      EXPECT(received.error != lci::error_t(lci::errorcode_t::done_truncated));
      EXPECT_EQ(received.size, size);
      EXPECT(in.intact(size));
      env.barrier();
    }
  });
}
