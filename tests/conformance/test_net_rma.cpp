// Raw puts and gets transfer the right bytes to the right place; the target gets a status if the origin requests one.
#include "tests/conformance/raw_port.hpp"

using namespace conf;
using lci::net_opcode_t;

namespace {

constexpr size_t offset = 40;

/// Checks the status of a WRITE or READ.
void expect_end(rank_env& env, const lci::net_status_t& s, size_t size, const void* context) {
  EXPECT_EQ(s.rank, env.right());
  EXPECT_EQ(s.length, size);
  EXPECT(s.user_context == context);
}

}  // namespace

TEST_CASE("a raw put of any size writes exactly its bytes", "[net][rma]") {
  const bool registered = GENERATE(false, true);
  INFO("local buffer registered: " << registered);
  on_ranks(
      [registered](rank_env& env) {
        raw_port port(env);
        const auto sizes = interesting_sizes(env);
        window w(env, sizes.back() + 2 * offset);
        for (const size_t size : sizes) {
          w.clear();
          env.barrier();
          auto out = message(size, size + static_cast<uint64_t>(env.rank));
          lci::mr_t mr;
          if (registered && size > 0) mr = lci::register_memory_x(out.data(), size).runtime(env.rt)();
          const auto posted = port.post([&] {
            return lci::net_post_put_x(env.right(), out.data(), size, mr, offset, w.of(env.right()))
                .user_context(&out)
                .runtime(env.rt)();
          });
          EXPECT(posted.is_posted());
          expect_end(env, port.next(net_opcode_t::WRITE), size, &out);
          env.barrier();  // the target must not read the memory while it is being written
          EXPECT(matches(w.data() + offset, size, size + static_cast<uint64_t>(env.left())));
          EXPECT(w.untouched_but(offset, size));
          if (!mr.is_empty()) lci::deregister_memory_x(&mr).runtime(env.rt)();
          env.barrier();
          EXPECT(port.quiet());  // the target gets no status
        }
      },
      with_small_chunks);
}

TEST_CASE("a raw put with immediate data gives the target a status when the data is there", "[net][rma]") {
  on_ranks(
      [](rank_env& env) {
        raw_port port(env);
        const auto sizes = interesting_sizes(env);
        window w(env, sizes.back() + 2 * offset);
        uint32_t imm = 0xffffff00u;
        for (const size_t size : sizes) {
          w.clear();
          env.barrier();
          ++imm;
          const auto out = message(size, size + static_cast<uint64_t>(env.rank));
          port.post([&] {
            return lci::net_post_putImm_x(env.right(), out.data(), size, lci::mr_t(), offset, w.of(env.right()))
                .imm_data(imm)
                .user_context(&imm)
                .runtime(env.rt)();
          });
          const auto told = port.next(net_opcode_t::REMOTE_WRITE);
          EXPECT_EQ(told.rank, env.left());
          EXPECT_EQ(told.imm_data, imm);
          EXPECT_EQ(told.length, size);
          EXPECT(told.user_context == nullptr);
          EXPECT(matches(w.data() + offset, size, size + static_cast<uint64_t>(env.left())));
          EXPECT(w.untouched_but(offset, size));
          expect_end(env, port.next(net_opcode_t::WRITE), size, &imm);
          env.barrier();
        }
        EXPECT(port.quiet());
      },
      with_small_chunks);
}

TEST_CASE("the buffer of a raw put of a copy may be changed after the post", "[net][rma]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    const size_t largest = lci::get_max_bcopy_size_x().runtime(env.rt)();
    window w(env, largest + 2 * offset, {env.device}, true);
    for (const size_t size : {size_t{0}, size_t{1}, size_t{64}, size_t{1000}, size_t{3000}, largest}) {
      for (const bool imm : {false, true}) {
        w.clear();
        env.barrier();
        auto out = message(size, size + static_cast<uint64_t>(env.rank));
        const auto done = port.post([&] {
          if (imm)
            return lci::net_post_putImms_x(env.right(), out.data(), size, offset, w.of(env.right()))
                .imm_data(77)
                .runtime(env.rt)();
          return lci::net_post_puts_x(env.right(), out.data(), size, offset, w.of(env.right())).runtime(env.rt)();
        });
        EXPECT(done.is_done());
        out.assign(size, '\x77');
        if (imm) {
          const auto told = port.next(net_opcode_t::REMOTE_WRITE);
          EXPECT_EQ(told.rank, env.left());
          EXPECT_EQ(told.imm_data, 77u);
        }
        // The target gets no status, and must not read memory that may be being written: the origin reads it
        // to find out whether the bytes have arrived.
        std::vector<char> back(size);
        while (!imm && !matches(back.data(), size, size + static_cast<uint64_t>(env.rank))) {
          port.post([&] {
            return lci::net_post_get_x(env.right(), back.data(), size, lci::mr_t(), offset, w.of(env.right()))
                .runtime(env.rt)();
          });
          port.next(net_opcode_t::READ);
        }
        if (!imm) env.barrier();
        EXPECT(matches(w.data() + offset, size, size + static_cast<uint64_t>(env.left())));
        EXPECT(w.untouched_but(offset, size));
        env.barrier();
        EXPECT(port.quiet());
      }
    }
  });
}

TEST_CASE("a raw get of any size reads the target's bytes", "[net][rma]") {
  on_ranks(
      [](rank_env& env) {
        raw_port port(env);
        const auto sizes = interesting_sizes(env);
        window w(env, sizes.back() + 2 * offset);
        fill(w.data(), w.size(), static_cast<uint64_t>(env.rank));
        env.barrier();
        for (const size_t size : sizes) {
          guarded in(size);
          const auto posted = port.post([&] {
            return lci::net_post_get_x(env.right(), in.data(), size, lci::mr_t(), offset, w.of(env.right()))
                .user_context(&in)
                .runtime(env.rt)();
          });
          EXPECT(posted.is_posted());
          expect_end(env, port.next(net_opcode_t::READ), size, &in);
          EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.right()), offset));
          EXPECT(in.intact(size));
        }
        env.barrier();
        EXPECT(port.quiet());
      },
      with_small_chunks);
}
