// Atomic operations on remote memory: values are right, also with concurrent accesses.
#include <atomic>
#include <cstdint>
#include <limits>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;
using lci::atomic_op_t;
using lci::atomic_type_t;

namespace {

template <class T>
constexpr atomic_type_t type_of() {
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? atomic_type_t::float32 : atomic_type_t::float64;
  if (sizeof(T) == 4) return std::is_signed_v<T> ? atomic_type_t::int32 : atomic_type_t::uint32;
  return std::is_signed_v<T> ? atomic_type_t::int64 : atomic_type_t::uint64;
}

/// A rank's atomic operations on a value in a window, one at a time.
template <class T>
struct remote_value {
  rank_env& env;
  lci::comp_t sync;
  int rank;
  size_t disp;
  lci::rmr_t rmr;

  lci::status_t apply(atomic_op_t op, const T* operand, T* result, const T* compare = nullptr) {
    return finished(env, sync, env.post([&] {
      return lci::post_atomic_x(rank, op, operand, result, sync, disp, rmr)
          .type(type_of<T>())
          .compare(compare)
          .user_context(this)
          .runtime(env.rt)();
    }));
  }
  T fetch() {
    T value{};
    apply(atomic_op_t::fetch, nullptr, &value);
    return value;
  }
  T apply(atomic_op_t op, T operand) {
    T before{};
    apply(op, &operand, &before);
    return before;
  }
  T compare_swap(T compare, T operand) {
    T before{};
    apply(atomic_op_t::compare_swap, &operand, &before, &compare);
    return before;
  }
};

/// Each rank works on its own value at its right neighbour.
template <class T, class F>
void on_own_value(F f) {
  on_ranks([f](rank_env& env) {
    window w(env, 4096);
    env.barrier();
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    remote_value<T> value{env, sync, env.right(), 64, w.of(env.right())};
    f(env, value);
    env.barrier();
    EXPECT(w.untouched_but(64, sizeof(T)));
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}

template <class T>
void check_integer() {
  on_own_value<T>([](rank_env& env, remote_value<T>& v) {
    const T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
    const T first = 41;
    const lci::status_t stored = v.apply(atomic_op_t::store, &first, nullptr);
    EXPECT(stored.is_done());
    EXPECT_EQ(stored.rank, v.rank);
    EXPECT_EQ(stored.size, sizeof(T));
    EXPECT(stored.user_context == &v);
    EXPECT_EQ(v.fetch(), first);
    EXPECT_EQ(v.apply(atomic_op_t::add, 1), first);
    EXPECT_EQ(v.apply(atomic_op_t::swap, most), T{42});
    EXPECT_EQ(v.apply(atomic_op_t::add, 1), most);  // wraps around
    EXPECT_EQ(v.fetch(), least);
    EXPECT_EQ(v.compare_swap(T{5}, T{6}), least);  // the values differ: no change
    EXPECT_EQ(v.compare_swap(least, T{0x0f0f}), least);
    EXPECT_EQ(v.apply(atomic_op_t::bit_and, T{0x00ff}), T{0x0f0f});
    EXPECT_EQ(v.apply(atomic_op_t::bit_or, T{0x1000}), T{0x000f});
    EXPECT_EQ(v.apply(atomic_op_t::bit_xor, T{0x1001}), T{0x100f});
    EXPECT_EQ(v.fetch(), T{0x000e});
    const T two = 2;
    EXPECT(v.apply(atomic_op_t::add, &two, nullptr).is_done());  // without a buffer for the previous value
    EXPECT_EQ(v.fetch(), T{0x0010});
  });
}

template <class T>
void check_float() {
  on_own_value<T>([](rank_env& env, remote_value<T>& v) {
    const T first = T(1.5);
    EXPECT(v.apply(atomic_op_t::store, &first, nullptr).is_done());
    EXPECT_EQ(v.apply(atomic_op_t::add, T(0.25)), T(1.5));
    EXPECT_EQ(v.apply(atomic_op_t::swap, T(-0.0)), T(1.75));
    EXPECT_EQ(v.compare_swap(T(0.0), T(9)), T(0));  // other bits: not equal
    EXPECT_EQ(v.compare_swap(T(-0.0), T(9)), T(0));
    EXPECT_EQ(v.fetch(), T(9));
  });
}

}  // namespace

TEST_CASE("each atomic operation has the right result on each integer type", "[atomics]") {
  check_integer<int32_t>();
  check_integer<uint32_t>();
  check_integer<int64_t>();
  check_integer<uint64_t>();
}

TEST_CASE("atomic operations on floating point add, swap and compare bits", "[atomics]") {
  check_float<float>();
  check_float<double>();
}

TEST_CASE("no addition of any rank or thread is lost", "[atomics]") {
  const bool shared = GENERATE(false, true);
  INFO("memory from alloc_shared: " << shared);
  on_ranks([shared](rank_env& env) {
    // Remote operations of several threads are concurrent with the owner's.
    constexpr int threads = 2, additions = 400;
    auto mr = shared ? lci::alloc_shared_x(64).runtime(env.rt)() : lci::mr_t();
    alignas(64) std::array<char, 64> plain{};
    if (!shared) mr = lci::register_memory_x(plain.data(), 64).runtime(env.rt)();
    auto* const at = static_cast<uint64_t*>(lci::get_mr_base_x(mr).runtime(env.rt)());
    std::atomic_ref<uint64_t> sum(at[0]);
    std::atomic_ref<double> real(*reinterpret_cast<double*>(at + 1));
    sum.store(0);
    real.store(0);
    const auto rmr = env.all_gather(lci::get_rmr_x(mr).runtime(env.rt)())[0];
    env.parallel(threads, [&](int) {
      const uint64_t one = 1;
      const double half = 0.5;
      for (int i = 0; i < additions; ++i) {
        env.post([&] {
          return lci::post_atomic_x(0, atomic_op_t::add, &one, nullptr, lci::COMP_NULL, 0, rmr).runtime(env.rt)();
        });
        env.post([&] {
          return lci::post_atomic_x(0, atomic_op_t::add, &half, nullptr, lci::COMP_NULL, 8, rmr)
              .type(atomic_type_t::float64)
              .runtime(env.rt)();
        });
        if (env.rank == 0) {
          sum.fetch_add(1);
          real.fetch_add(0.5);
        }
      }
    });
    env.barrier();
    const auto expected = static_cast<uint64_t>(threads * additions * (env.size + 1));
    if (env.rank == 0) {
      EXPECT_EQ(sum.load(), expected);
      EXPECT_EQ(real.load(), 0.5 * static_cast<double>(expected));
    }
    env.barrier();
    if (shared)
      lci::free_shared_x(&mr).runtime(env.rt)();
    else
      lci::deregister_memory_x(&mr).runtime(env.rt)();
  });
}

TEST_CASE("fetch-and-add returns a different value to each caller", "[atomics]") {
  on_ranks([](rank_env& env) {
    constexpr uint64_t n = 200;
    window w(env, 64);
    std::memset(w.data(), 0, 64);
    env.barrier();
    // All operations are posted before any completion is popped, so many are in flight.
    auto cq = lci::alloc_cq_x().runtime(env.rt)();
    std::vector<uint64_t> tickets(n, ~uint64_t{0});
    const uint64_t one = 1;
    size_t pending = 0;
    for (uint64_t& ticket : tickets) {
      const auto s = env.post(
          [&] { return lci::post_atomic_x(0, atomic_op_t::add, &one, &ticket, cq, 0, w.of(0)).runtime(env.rt)(); });
      pending += s.is_posted();
    }
    env.until("all to end", [&] {
      while (pending > 0 && lci::cq_pop_x(cq).runtime(env.rt)().is_done()) --pending;
      return pending == 0;
    });
    // The tickets of all ranks, as a bit set of those that rank r has received.
    std::array<uint64_t, 32> bits{};
    for (const uint64_t t : tickets)
      if (t < bits.size() * 64) bits[t / 64] |= uint64_t{1} << t % 64;
    const auto all = env.all_gather(bits);
    uint64_t got = 0;
    std::array<uint64_t, 32> together{};
    for (const auto& one_rank : all)
      for (size_t i = 0; i < one_rank.size(); ++i) {
        EXPECT((together[i] & one_rank[i]) == 0);
        together[i] |= one_rank[i];
      }
    for (const uint64_t word : together) got += static_cast<uint64_t>(__builtin_popcountll(word));
    EXPECT_EQ(got, n * static_cast<uint64_t>(env.size));
    lci::free_comp_x(&cq).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("an atomic operation completes through any object", "[atomics]") {
  const auto kind = GENERATE(from_range(all_inbox_kinds()));
  const bool allow_done = GENERATE(true, false);
  INFO(name_of(kind) << ", allow_done " << allow_done);
  on_ranks([kind, allow_done](rank_env& env) {
    inbox box(env, kind, 1, false);
    window w(env, 64);
    std::memset(w.data(), 0, 64);
    env.barrier();
    const uint64_t operand = 7;
    uint64_t before = 1;
    const auto s = env.post([&] {
      return lci::post_atomic_x(env.right(), atomic_op_t::swap, &operand, &before, box.comp(), 8, w.of(env.right()))
          .allow_done(allow_done)
          .runtime(env.rt)();
    });
    EXPECT(allow_done || !s.is_done());
    if (!s.is_done()) EXPECT_EQ(box.collect().size(), size_t{1});
    EXPECT_EQ(before, uint64_t{0});
    env.barrier();
    uint64_t now = 0;
    std::memcpy(&now, w.data() + 8, 8);
    EXPECT_EQ(now, operand);
    env.barrier();
  });
}

TEST_CASE("an invalid atomic operation is refused and has no effect", "[atomics]") {
  on_ranks([](rank_env& env) {
    window w(env, 64);
    uint64_t value = 0;
    const auto post = [&](int rank, atomic_op_t op, const void* operand, void* result, size_t disp) {
      return lci::post_atomic_x(rank, op, operand, result, lci::COMP_NULL, disp, w.of(env.rank)).runtime(env.rt);
    };
    const auto add = atomic_op_t::add;
    EXPECT_INVALID(post(-1, add, &value, &value, 0)(), "rank", "-1");
    EXPECT_INVALID(post(env.rank, add, nullptr, &value, 0)(), "operand", "nullptr");
    EXPECT_INVALID(post(env.rank, atomic_op_t::fetch, nullptr, nullptr, 0)(), "result", "nullptr");
    EXPECT_INVALID(post(env.rank, atomic_op_t::store, &value, &value, 0)(), "result", "swap");
    EXPECT_INVALID(post(env.rank, atomic_op_t::compare_swap, &value, &value, 0)(), "compare", "nullptr");
    EXPECT_INVALID(post(env.rank, add, &value, &value, 57)(), "remote_disp", "57");
    EXPECT_INVALID(post(env.rank, add, &value, &value, 4)(), "remote_disp", "divisible by 8");
    EXPECT_INVALID(post(env.rank, atomic_op_t::bit_or, &value, &value, 0).type(atomic_type_t::float64)(), "op",
                   "bit_or on float64");
    EXPECT_INVALID(post(env.rank, static_cast<atomic_op_t>(99), &value, &value, 0)(), "op", "99");
    EXPECT_INVALID(post(env.rank, add, &value, &value, 0).type(static_cast<atomic_type_t>(-1))(), "op", "-1");
    EXPECT_INVALID(
        lci::post_atomic_x(env.rank, add, &value, &value, lci::COMP_NULL, 0, lci::RMR_NULL).runtime(env.rt)(), "rmr",
        "empty");
    EXPECT(w.untouched_but(0, 0));
    env.barrier();
  });
}
