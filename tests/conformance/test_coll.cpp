// Collective operations: every algorithm, at every root, with any number of ranks.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

const size_t sizes[] = {0, 1, 8, 3000, 100'000};

/// The block that rank `from` has for rank `to`.
std::vector<char> block(size_t size, int from, int to = 0) {
  return message(size, static_cast<uint64_t>(from) * 1000 + static_cast<uint64_t>(to) + 1);
}

void append(std::vector<char>& all, const std::vector<char>& one) { all.insert(all.end(), one.begin(), one.end()); }

/// Blocks of all ranks for `to`, or of `from` for all ranks.
std::vector<char> blocks_for(int n, size_t size, int to) {
  std::vector<char> all;
  for (int from = 0; from < n; ++from) append(all, block(size, from, to));
  return all;
}
std::vector<char> blocks_of(int n, size_t size, int from) {
  std::vector<char> all;
  for (int to = 0; to < n; ++to) append(all, block(size, from, to));
  return all;
}

/// A range of ranks. Joining two is associative, not commutative, so the result shows the order in which
/// ranks were combined.
struct stretch {
  int first, last;
  bool unbroken;
  bool operator==(const stretch& o) const { return first == o.first && last == o.last && unbroken && o.unbroken; }
};
void join(const void* left, const void* right, void* dst, size_t n) {
  const auto *l = static_cast<const stretch*>(left), *r = static_cast<const stretch*>(right);
  auto* d = static_cast<stretch*>(dst);
  for (size_t i = 0; i < n; ++i)
    d[i] = {l[i].first, r[i].last, l[i].unbroken && r[i].unbroken && l[i].last + 1 == r[i].first};
}
void add(const void* left, const void* right, void* dst, size_t n) {
  const auto *l = static_cast<const uint64_t*>(left), *r = static_cast<const uint64_t*>(right);
  auto* d = static_cast<uint64_t*>(dst);
  for (size_t i = 0; i < n; ++i) d[i] = l[i] + r[i];
}
/// The summand of `rank` for item i, and the sum over all ranks.
uint64_t part(int rank, size_t i) { return (static_cast<uint64_t>(rank) + 1) * 1000003 + i; }
uint64_t sum(int n, size_t i) {
  uint64_t all = 0;
  for (int r = 0; r < n; ++r) all += part(r, i);
  return all;
}

const size_t counts[] = {0, 1, 5, 1000, 40'000};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

TEST_CASE("no rank leaves a barrier before all have entered it", "[coll]") {
  if (on_several_hosts()) LCI_SKIP("ranks on several hosts have no common clock");
  on_ranks([](rank_env& env) {
    for (int i = 0; i < 3 * env.size; ++i) {
      if (i % env.size == env.rank) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const double came = seconds();
      lci::barrier_x().runtime(env.rt)();
      const double left = seconds();
      for (const double other : env.all_gather(came)) EXPECT(other <= left);
    }
  });
}

TEST_CASE("a broadcast delivers the root's bytes to all ranks", "[coll]") {
  using algorithm = lci::broadcast_algorithm_t;
  const auto how = GENERATE(algorithm::none, algorithm::direct, algorithm::tree, algorithm::ring);
  on_ranks([how](rank_env& env) {
    for (const size_t size : sizes)
      for (int root = 0; root < env.size; ++root) {
        const auto right = block(size, root);
        auto buffer = root == env.rank ? right : std::vector<char>(size);
        lci::broadcast_x(buffer.data(), size, root).algorithm(how).runtime(env.rt)();
        EXPECT(buffer == right);
      }
    // Numbers of pieces that differ from the number of ranks.
    for (const int pieces : {1, 7, 100}) {
      auto buffer = env.rank == 0 ? block(50, 0) : std::vector<char>(50);
      lci::broadcast_x(buffer.data(), 50, 0).algorithm(how).ring_nsteps(pieces).runtime(env.rt)();
      EXPECT(buffer == block(50, 0));
    }
  });
}

TEST_CASE("gather and scatter move blocks between the root and all ranks", "[coll]") {
  using algorithm = lci::gather_algorithm_t;
  const auto how = GENERATE(algorithm::none, algorithm::direct, algorithm::tree);
  on_ranks([how](rank_env& env) {
    const auto n = static_cast<size_t>(env.size);
    for (const size_t size : sizes)
      for (int root = 0; root < env.size; ++root) {
        const bool mine = root == env.rank;
        std::vector<char> all(mine ? n * size : 0), one(size);
        const auto out = block(size, env.rank, root);
        lci::gather_x(out.data(), all.data(), size, root).algorithm(how).runtime(env.rt)();
        if (mine) EXPECT(all == blocks_for(env.size, size, root));
        auto whole = mine ? blocks_of(env.size, size, root) : std::vector<char>();
        lci::scatter_x(whole.data(), one.data(), size, root).algorithm(how).runtime(env.rt)();
        EXPECT(one == block(size, root, env.rank));
        // The root's own block may be in place.
        const size_t own = static_cast<size_t>(env.rank) * size;
        if (mine) std::fill(all.begin(), all.end(), 'x');
        if (mine) std::copy(out.begin(), out.end(), all.begin() + static_cast<std::ptrdiff_t>(own));
        lci::gather_x(mine ? all.data() + own : out.data(), all.data(), size, root).algorithm(how).runtime(env.rt)();
        if (mine) EXPECT(all == blocks_for(env.size, size, root));
        lci::scatter_x(whole.data(), mine ? whole.data() + own : one.data(), size, root)
            .algorithm(how)
            .runtime(env.rt)();
        if (mine) EXPECT(whole == blocks_of(env.size, size, root));
      }
  });
}

TEST_CASE("allgather delivers all blocks to all ranks", "[coll]") {
  using algorithm = lci::allgather_algorithm_t;
  const auto how = GENERATE(algorithm::none, algorithm::direct, algorithm::ring);
  on_ranks([how](rank_env& env) {
    for (const size_t size : sizes) {
      const auto out = block(size, env.rank);
      std::vector<char> all(static_cast<size_t>(env.size) * size);
      lci::allgather_x(out.data(), all.data(), size).algorithm(how).runtime(env.rt)();
      EXPECT(all == blocks_for(env.size, size, 0));
      // A rank's own block may be in place.
      std::vector<char> in_place(all.size());
      char* const own = in_place.data() + static_cast<size_t>(env.rank) * size;
      std::copy(out.begin(), out.end(), own);
      lci::allgather_x(own, in_place.data(), size).algorithm(how).runtime(env.rt)();
      EXPECT(in_place == all);
    }
  });
}

TEST_CASE("alltoall exchanges blocks between all pairs", "[coll]") {
  on_ranks([](rank_env& env) {
    for (const size_t size : sizes) {
      const auto out = blocks_of(env.size, size, env.rank);
      std::vector<char> in(out.size());
      lci::alltoall_x(out.data(), in.data(), size).runtime(env.rt)();
      EXPECT(in == blocks_for(env.size, size, env.rank));
    }
  });
}

TEST_CASE("reductions combine in the order of ranks", "[coll]") {
  on_ranks([](rank_env& env) {
    const stretch own{env.rank, env.rank, true}, everybody{0, env.size - 1, true};
    for (const size_t count : {size_t{1}, size_t{700}}) {
      const std::vector<stretch> out(count, own);
      const size_t item = sizeof(stretch);
      for (int root = 0; root < env.size; ++root) {
        std::vector<stretch> in(root == env.rank ? count : 0);
        lci::reduce_x(out.data(), in.data(), count, item, join, root).runtime(env.rt)();
        for (const stretch& s : in) EXPECT(s == everybody);
        auto in_place = out;
        lci::reduce_x(in_place.data(), in_place.data(), count, item, join, root).runtime(env.rt)();
        if (root == env.rank)
          for (const stretch& s : in_place) EXPECT(s == everybody);
      }
      std::vector<stretch> in(count);
      using algorithm = lci::allreduce_algorithm_t;
      for (const auto how : {algorithm::none, algorithm::direct, algorithm::tree}) {
        in.assign(count, {});
        lci::allreduce_x(out.data(), in.data(), count, item, join).algorithm(how).runtime(env.rt)();
        for (const stretch& s : in) EXPECT(s == everybody);
      }
      in.assign(count, {});
      lci::scan_x(out.data(), in.data(), count, item, join).runtime(env.rt)();
      for (const stretch& s : in) EXPECT(s == (stretch{0, env.rank, true}));
    }
  });
}

TEST_CASE("allreduce computes sums, also in place", "[coll]") {
  using algorithm = lci::allreduce_algorithm_t;
  const auto how = GENERATE(algorithm::none, algorithm::direct, algorithm::tree, algorithm::ring);
  on_ranks([how](rank_env& env) {
    for (const size_t count : counts)
      for (const bool in_place : {false, true}) {
        std::vector<uint64_t> out(count), in(count);
        for (size_t i = 0; i < count; ++i) out[i] = part(env.rank, i);
        if (in_place) in = out;
        lci::allreduce_x(in_place ? in.data() : out.data(), in.data(), count, 8, add).algorithm(how).runtime(env.rt)();
        bool right = true;
        for (size_t i = 0; i < count; ++i) right = right && in[i] == sum(env.size, i);
        EXPECT(right);
      }
  });
}

TEST_CASE("reduce_scatter gives each rank its block of the sum", "[coll]") {
  using algorithm = lci::reduce_scatter_algorithm_t;
  const auto how = GENERATE(algorithm::none, algorithm::direct, algorithm::tree, algorithm::ring);
  on_ranks([how](rank_env& env) {
    for (const size_t count : counts) {
      std::vector<uint64_t> out(count * static_cast<size_t>(env.size)), in(count);
      for (size_t i = 0; i < out.size(); ++i) out[i] = part(env.rank, i);
      lci::reduce_scatter_x(out.data(), in.data(), count, 8, add).algorithm(how).runtime(env.rt)();
      bool right = true;
      for (size_t i = 0; i < count; ++i)
        right = right && in[i] == sum(env.size, i + count * static_cast<size_t>(env.rank));
      EXPECT(right);
    }
  });
}

TEST_CASE("reductions call no function for items without bytes", "[coll]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    uint64_t out[4] = {1, 2, 3, 4}, in[4] = {5, 6, 7, 8};
    const auto all = {lci::allreduce_algorithm_t::none, lci::allreduce_algorithm_t::direct,
                      lci::allreduce_algorithm_t::tree, lci::allreduce_algorithm_t::ring};
    const auto scattering = {lci::reduce_scatter_algorithm_t::direct, lci::reduce_scatter_algorithm_t::tree,
                             lci::reduce_scatter_algorithm_t::ring};
    // Items of no bytes, then no items; with buffers, then without.
    for (const size_t count : {size_t{4}, size_t{0}})
      for (const bool buffers : {true, false}) {
        const size_t item_size = count == 0 ? 8 : 0;
        const void* from = buffers ? out : nullptr;
        void* to = buffers ? in : nullptr;
        for (const auto how : all) lci::allreduce_x(from, to, count, item_size, add).algorithm(how).runtime(rt)();
        for (const auto how : scattering)
          lci::reduce_scatter_x(from, to, count, item_size, add).algorithm(how).runtime(rt)();
        lci::reduce_x(from, to, count, item_size, add, env.size - 1).runtime(rt)();
        lci::scan_x(from, to, count, item_size, add).runtime(rt)();
      }
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(in[i], 5 + i);
  });
}

TEST_CASE("collectives with a completion object proceed while their caller does other work", "[coll]") {
  on_ranks([](rank_env& env) {
    constexpr int n = 20;
    auto all = lci::alloc_sync_x().threshold(3 * n).runtime(env.rt)();
    std::vector<uint64_t> sums(n), out(n);
    std::vector<std::vector<char>> buffers(n);
    for (int i = 0; i < n; ++i) {
      const auto k = static_cast<size_t>(i);
      const size_t size = sizes[k % std::size(sizes)];
      const int root = i % env.size;
      buffers[k] = root == env.rank ? block(size, root, i) : std::vector<char>(size);
      out[k] = part(env.rank, k);
      lci::broadcast_x(buffers[k].data(), size, root).comp(all).runtime(env.rt)();
      lci::allreduce_x(&out[k], &sums[k], 1, 8, add).comp(all).runtime(env.rt)();
      lci::barrier_x().comp(all).runtime(env.rt)();
    }
    env.until("all collectives", [&] { return lci::sync_test_x(all, nullptr).runtime(env.rt)(); });
    for (size_t k = 0; k < n; ++k) {
      EXPECT_EQ(sums[k], sum(env.size, k));
      EXPECT(buffers[k] == block(buffers[k].size(), static_cast<int>(k) % env.size, static_cast<int>(k)));
    }
    lci::free_comp_x(&all).runtime(env.rt)();
  });
}

TEST_CASE("collectives run as nodes of a graph each time it is started", "[coll][graph]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    struct {
      uint64_t own, sum, result;
    } data{};
    auto graph = lci::alloc_graph_x().runtime(rt)();
    const auto first = lci::graph_add_node_op(graph, lci::allreduce_x(&data.own, &data.sum, 1, 8, add).runtime(rt));
    const auto function = lci::graph_add_node_x(graph,
                                                [](void* p) {
                                                  auto* d = static_cast<decltype(&data)>(p);
                                                  d->result = d->sum * 2;
                                                  return lci::status_t(lci::errorcode_t::done);
                                                })
                              .value(&data)
                              .runtime(rt)();
    const auto second = lci::graph_add_node_op(graph, lci::broadcast_x(&data.result, 8, env.size - 1).runtime(rt));
    lci::graph_add_edge_x(graph, first, function).runtime(rt)();
    lci::graph_add_edge_x(graph, function, second).runtime(rt)();
    for (size_t round = 0; round < 5; ++round) {
      data = {part(env.rank, round), 0, 0};
      lci::graph_start_x(graph).runtime(rt)();
      env.until("the graph", [&] { return lci::graph_test_x(graph).runtime(rt)().is_done(); });
      EXPECT_EQ(data.result, 2 * sum(env.size, round));
    }
    lci::free_comp_x(&graph).runtime(rt)();
  });
}

TEST_CASE("threads run collectives on devices of their own, concurrently with other traffic", "[coll]") {
  on_ranks([](rank_env& env) {
    constexpr int n_threads = 3;
    const auto devices = env.devices(n_threads, false);
    env.parallel(n_threads, [&](int thread) {
      const auto device = devices[static_cast<size_t>(thread)];
      auto sync = lci::alloc_sync_x().threshold(2).runtime(env.rt)();
      for (size_t i = 0; i < 30; ++i) {
        const auto key = static_cast<lci::tag_t>(thread) * 100 + i;  // messages may arrive in any order
        // A user's message is in flight while the collective runs.
        const auto out = block(sizes[i % std::size(sizes)], env.rank, thread);
        std::vector<char> in(out.size());
        lci::post_recv_x(env.left(), in.data(), in.size(), key, sync)
            .device(device)
            .allow_done(false)
            .allow_retry(false)
            .runtime(env.rt)();
        lci::post_send_x(env.right(), out.data(), out.size(), key, sync)
            .device(device)
            .allow_done(false)
            .allow_retry(false)
            .runtime(env.rt)();
        uint64_t mine = part(env.rank + thread, i), all = 0;
        lci::allreduce_x(&mine, &all, 1, 8, add).device(device).runtime(env.rt)();
        uint64_t right = 0;
        for (int r = 0; r < env.size; ++r) right += part(r + thread, i);
        EXPECT_EQ(all, right);
        env.until(device, "the message", [&] { return lci::sync_test_x(sync, nullptr).runtime(env.rt)(); });
        EXPECT(in == block(in.size(), env.left(), thread));
      }
      lci::free_comp_x(&sync).runtime(env.rt)();
    });
  });
}

TEST_CASE("a handler that throws while a collective operation waits does not end the operation", "[coll]") {
  on_ranks([](rank_env& env) {
    struct throwing : lci::comp_impl_t {
      throwing() { attr.am_in_place = true; }
      void signal(lci::status_t status) override {
        // Also misuse, as of a post whose argument is invalid.
        if (status.tag == 1) throw lci::invalid_argument_error("of the handler");
        throw std::domain_error("of the handler");
      }
    };
    throwing handler;
    const lci::rcomp_t number = lci::register_rcomp_x(lci::comp_t(&handler)).runtime(env.rt)();
    env.barrier_at_rest();
    for (int round = 0; round < 4; ++round) {
      uint64_t own = part(env.rank, 0), all = 0;
      int thrown = 0;
      const auto progress = [&] {
        try {
          lci::progress_x().device(env.device)();
        } catch (const std::exception& e) {
          thrown += std::string(e.what()) == "of the handler";
        }
      };
      // While the post is refused, the left neighbour's message may arrive.
      while (lci::post_am_x(env.right(), &own, sizeof own, lci::COMP_NULL_RETRY, number)
                 .tag(round / 2)
                 .device(env.device)()
                 .is_retry())
        progress();
      const bool late = env.rank == 0;  // the others handle the message while they wait for this rank
      if (late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (round % 2 == 0)
        lci::barrier_x().runtime(env.rt).device(env.device)();
      else
        lci::allreduce_x(&own, &all, 1, 8, add).runtime(env.rt).device(env.device)();
      if (round % 2 == 1) EXPECT_EQ(all, sum(env.size, 0));
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20 * lci_test::time_scale);
      while (thrown == 0 && std::chrono::steady_clock::now() < end) progress();
      for (int i = 0; i < 10; ++i) progress();
      EXPECT_EQ(thrown, 1);
      // This barrier makes no progress: otherwise a faster rank's message of the next round could arrive in it.
      env.barrier_at_rest();
    }
    env.barrier();
    lci::deregister_rcomp_x(number).runtime(env.rt)();
  });
}

TEST_CASE("collectives refuse invalid arguments", "[coll][invalid]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    // Only one rank makes the invalid calls: a refused call does not count as a collective, so later ones still match.
    if (env.rank == 0) {
      uint64_t a = 0, b = 0;
      EXPECT_INVALID((lci::broadcast_x(&a, 8, env.size).runtime(rt)(), 0), "root", std::to_string(env.size));
      EXPECT_INVALID((lci::reduce_x(&a, &b, 1, 8, add, -1).runtime(rt)(), 0), "root", "-1");
      EXPECT_INVALID((lci::broadcast_x(nullptr, 8, 0).runtime(rt)(), 0), "buffer", "nullptr");
      EXPECT_INVALID((lci::allreduce_x(&a, nullptr, 1, 8, add).runtime(rt)(), 0), "recvbuf", "nullptr");
      EXPECT_INVALID((lci::allreduce_x(&a, &b, 1, 8, nullptr).runtime(rt)(), 0), "op", "nullptr");
      EXPECT_INVALID((lci::allreduce_x(&a, &b, ~size_t{0} / 4, 8, add).runtime(rt)(), 0), "count", "bytes");
      EXPECT_INVALID((lci::allgather_x(nullptr, &b, 8).runtime(rt)(), 0), "sendbuf", "nullptr");
      EXPECT_INVALID((lci::broadcast_x(&a, 8, 0).ring_nsteps(-1).runtime(rt)(), 0), "ring_nsteps", "-1");
      const auto unknown = static_cast<lci::broadcast_algorithm_t>(99);
      EXPECT_INVALID((lci::broadcast_x(&a, 8, 0).algorithm(unknown).runtime(rt)(), 0), "algorithm", "99");
    }
    uint64_t own = part(env.rank, 0), all = 0;
    lci::allreduce_x(&own, &all, 1, 8, add).runtime(rt)();
    EXPECT_EQ(all, sum(env.size, 0));
  });
}
