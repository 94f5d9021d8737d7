// Ranks send messages of all sizes to their neighbours, several at a time, in both directions. The sizes include those
// at which the protocol changes, and those that fit exactly into a packet or a ring, or exceed it. One variant of the
// suite gives the ranks rings of different sizes.
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

constexpr int at_a_time = 4;

/// Receive and send buffers of messages of `size` bytes, from the left neighbour and to the right one.
struct message_buffers {
  std::vector<char> out[at_a_time], in[at_a_time];
  explicit message_buffers(size_t size) {
    for (int i = 0; i < at_a_time; ++i) out[i].resize(size), in[i].resize(size);
  }
};

/// Exchanges `at_a_time` messages with each neighbour. `sync` has a threshold of two for each of them. The tags from
/// `first_tag` on are those of no other call, as a message may overtake an earlier one.
void exchange_some(rank_env& env, lci::comp_t sync, message_buffers& buffers, size_t size, lci::tag_t first_tag) {
  for (int i = 0; i < at_a_time; ++i)
    env.post([&] {
      return lci::post_recv_x(env.left(), buffers.in[i].data(), size, first_tag + static_cast<lci::tag_t>(i), sync)
          .runtime(env.rt)
          .allow_done(false)();
    });
  for (int i = 0; i < at_a_time; ++i)
    env.post([&] {
      return lci::post_send_x(env.right(), buffers.out[i].data(), size, first_tag + static_cast<lci::tag_t>(i), sync)
          .runtime(env.rt)
          .allow_done(false)();
    });
  lci::status_t ends[2 * at_a_time];
  env.until("sends and receives", [&] { return lci::sync_test_x(sync, ends).runtime(env.rt)(); });
  for (const auto& s : ends) EXPECT(s.is_done() && s.size == size);
}

}  // namespace

TEST_CASE("messages of all sizes arrive in both directions", "[sizes]") {
  on_ranks([](rank_env& env) {
    lci::comp_t sync = lci::alloc_sync_x().threshold(2 * at_a_time).runtime(env.rt)();
    std::vector<size_t> sizes = {0, 1, 8, 55, 56, 57, 100, 1000, 24 << 10, 40 << 10, 60000, 100000};
    for (int bits = 11; bits <= 20; ++bits)
      for (const size_t less : {64, 9, 8, 0}) sizes.push_back((size_t{1} << bits) - less);
    lci::tag_t tag = 0;
    for (const size_t size : sizes) {
      message_buffers buffers(size);
      for (uint64_t i = 0; i < at_a_time; ++i)
        fill(buffers.out[i].data(), size, size + i + static_cast<uint64_t>(env.rank));
      exchange_some(env, sync, buffers, size, tag);
      tag += at_a_time;
      for (uint64_t i = 0; i < at_a_time; ++i)
        EXPECT(matches(buffers.in[i].data(), size, size + i + static_cast<uint64_t>(env.left())));
    }
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("messages arrive while their sender measures by which protocol they are faster", "[sizes]") {
  if (ranks_in_one_process()) LCI_SKIP("this network's protocols are not measured");
  on_ranks([](rank_env& env) {
    lci::comp_t sync = lci::alloc_sync_x().threshold(2 * at_a_time).runtime(env.rt)();
    lci::tag_t tag = 0;
    for (const size_t size : {size_t{30000}, size_t{50000}, size_t{100000}}) {
      message_buffers buffers(size);
      bool good = true;
      for (int round = 0; round < 400; ++round) {
        for (int i = 0; i < at_a_time; ++i)
          buffers.out[i].front() = buffers.out[i].back() = static_cast<char>(round + i + env.rank);
        exchange_some(env, sync, buffers, size, tag);
        tag += at_a_time;
        for (int i = 0; i < at_a_time; ++i) {
          const auto expected = static_cast<char>(round + i + env.left());
          good = good && buffers.in[i].front() == expected && buffers.in[i].back() == expected;
        }
      }
      EXPECT(good);
    }
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}
