// Counters of a device: messages and bytes by kind and peer, equal at both ends.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

void counting(lci::global_attr_t& attr) { attr.counters = true; }

lci::counters_t with(rank_env& env, int rank) {
  return lci::get_counters_x().device(env.device).rank(rank).runtime(env.rt)();
}
lci::counters_t with_all(rank_env& env) { return lci::get_counters_x().device(env.device).runtime(env.rt)(); }

void expect_count(rank_env& env, const lci::count_t& count, uint64_t messages, uint64_t n_bytes) {
  EXPECT_EQ(count.messages, messages);
  EXPECT_EQ(count.bytes, n_bytes);
}

/// Sizes from inject to rendezvous; none equals the size of another kind of message.
const std::vector<size_t> counted_sizes = {0, 5, 48, 3000, 200'000};
const uint64_t counted_bytes = std::accumulate(counted_sizes.begin(), counted_sizes.end(), uint64_t{0});

/// Returns whether the processor has the vectors that the library copies by.
bool has_vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

}  // namespace

TEST_CASE("active messages of all sizes are counted once at each end, under the peer", "[counters]") {
  const auto semantic = GENERATE(lci::comp_semantic_t::memory, lci::comp_semantic_t::remote);
  on_ranks(
      [semantic](rank_env& env) {
        constexpr int rounds = 3;
        inbox box(env, inbox_kind::handler, rounds * static_cast<int>(counted_sizes.size()));
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        for (int i = 0; i < rounds; ++i)
          for (const size_t size : counted_sizes) {
            const auto out = message(size, size);
            finished(env, sync, env.post([&] {
              return lci::post_am_x(env.right(), out.data(), size, sync, rcomp)
                  .comp_semantic(semantic)
                  .runtime(env.rt)();
            }));
          }
        box.collect();
        const auto to = with(env, env.right()), from = with(env, env.left());
        expect_count(env, to.am_sent, rounds * counted_sizes.size(), rounds * counted_bytes);
        expect_count(env, from.am_received, rounds * counted_sizes.size(), rounds * counted_bytes);
        expect_count(env, to.rendezvous_sent, rounds, rounds * 200'000);
        expect_count(env, from.rendezvous_received, rounds, rounds * 200'000);
        const auto all = with_all(env);
        expect_count(env, all.am_sent, rounds * counted_sizes.size(), rounds * counted_bytes);
        expect_count(env, all.am_received, rounds * counted_sizes.size(), rounds * counted_bytes);
        expect_count(env, all.send_sent, 0, 0);
        expect_count(env, all.recv, 0, 0);
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      counting);
}

TEST_CASE("sends and the receives posted for them are counted", "[counters]") {
  on_ranks(
      [](rank_env& env) {
        const size_t n = counted_sizes.size();
        std::vector<std::vector<char>> in;
        for (const size_t size : counted_sizes) in.emplace_back(size + 1);
        auto sync = lci::alloc_sync_x().threshold(static_cast<int>(n)).runtime(env.rt)();
        for (size_t i = 0; i < n; ++i)
          EXPECT(lci::post_recv_x(i == 0 ? lci::ANY_SOURCE : env.left(), in[i].data(), in[i].size(), i, sync)
                     .matching_policy(i == 0 ? lci::matching_policy_t::tag_only : lci::matching_policy_t::rank_tag)
                     .runtime(env.rt)()
                     .is_posted());
        env.barrier();
        for (size_t i = 0; i < n; ++i) {
          const auto out = message(counted_sizes[i], i);
          (void)lci::post_send_x(env.right(), out.data(), counted_sizes[i], i, lci::COMP_NULL)
              .matching_policy(i == 0 ? lci::matching_policy_t::tag_only : lci::matching_policy_t::rank_tag)
              .runtime(env.rt)();
        }
        lci::sync_wait_x(sync, nullptr).runtime(env.rt)();
        const auto to = with(env, env.right()), from = with(env, env.left()), all = with_all(env);
        expect_count(env, to.send_sent, n, counted_bytes);
        expect_count(env, from.send_received, n, counted_bytes);
        expect_count(env, all.send_received, n, counted_bytes);
        // A receive from any source counts for no peer.
        expect_count(env, from.recv, n - 1, counted_bytes - counted_sizes[0] + n - 1);
        expect_count(env, all.recv, n, counted_bytes + n);
        expect_count(env, all.am_sent, 0, 0);
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      counting);
}

TEST_CASE("large messages received in fragments are counted as such", "[counters]") {
  using protocol = lci::attr_rdv_protocol_t;
  const auto how = GENERATE(protocol::copy, protocol::write, protocol::auto_select);
  on_ranks(
      [how](rank_env& env) {
        constexpr size_t size = 100'000, rounds = 30;
        const auto out = message(size, 1);
        std::vector<char> in(size);
        auto sync = lci::alloc_sync_x().threshold(2).runtime(env.rt)();
        for (size_t i = 0; i < rounds; ++i) {
          (void)lci::post_recv_x(env.left(), in.data(), size, 1, sync).allow_done(false).runtime(env.rt)();
          env.post([&] {
            return lci::post_send_x(env.right(), out.data(), size, 1, sync).allow_done(false).runtime(env.rt)();
          });
          lci::sync_wait_x(sync, nullptr).runtime(env.rt)();
          EXPECT(in == out);
        }
        const lci::count_t n = with(env, env.left()).rendezvous_in_fragments;
        if (how == protocol::copy) expect_count(env, n, rounds, rounds * size);
        EXPECT(n.messages <= rounds);
        EXPECT_EQ(n.bytes, n.messages * size);
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      [how](lci::global_attr_t& attr) {
        counting(attr);
        attr.rdv_protocol = how;
      });
}

TEST_CASE("puts, gets and atomics are counted at their origin, their signals at both ends", "[counters]") {
  on_ranks(
      [](rank_env& env) {
        inbox box(env, inbox_kind::counter, 2, false);
        window w(env, 200'000);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        std::vector<char> local(200'000);
        const lci::rmr_t rmr = w.of(env.right());
        const auto put = [&](size_t size, lci::rcomp_t signal) {
          finished(env, sync, env.post([&] {
            return lci::post_put_x(env.right(), local.data(), size, sync, 0, rmr).remote_comp(signal).runtime(env.rt)();
          }));
        };
        put(8, 0);
        put(200'000, rcomp);
        finished(env, sync, env.post([&] {
          return lci::post_get_x(env.right(), local.data(), 1000, sync, 0, rmr).remote_comp(rcomp).runtime(env.rt)();
        }));
        const uint32_t one = 1;
        finished(env, sync, env.post([&] {
          return lci::post_atomic_x(env.right(), lci::atomic_op_t::add, &one, nullptr, sync, 0, rmr)
              .type(lci::atomic_type_t::uint32)
              .runtime(env.rt)();
        }));
        box.collect();
        const auto to = with(env, env.right()), from = with(env, env.left()), all = with_all(env);
        expect_count(env, to.put, 2, 200'008);
        expect_count(env, to.get, 1, 1000);
        expect_count(env, to.atomic, 1, 4);
        expect_count(env, to.signal_sent, 2, 201'000);
        expect_count(env, from.signal_received, 2, 201'000);
        expect_count(env, all.put, 2, 200'008);
        expect_count(env, all.am_sent, 0, 0);
        expect_count(env, all.send_sent, 0, 0);
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      counting);
}

TEST_CASE("an attribute decides how repeated large puts and gets are copied in mapped memory", "[counters]") {
  using way = lci::attr_copy_way_t;
  const auto how = GENERATE(way::pieces, way::vectors, way::auto_select);
  on_ranks(
      [how](rank_env& env) {
        constexpr size_t size = 40'000;
        constexpr uint64_t rounds = 30;
        auto mr = lci::alloc_shared_x(size).runtime(env.rt)();
        const auto rmr = env.all_gather(lci::get_rmr_x(mr).runtime(env.rt)())[static_cast<size_t>(env.right())];
        const bool is_mapped = lci::get_shared_address_x(env.right(), rmr).runtime(env.rt)() != nullptr;
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        std::vector<char> out(size), in(size);
        for (uint64_t i = 0; i < rounds; ++i) {
          std::ranges::copy(message(size, i), out.begin());  // the same place each time
          finished(env, sync, env.post([&] {
            return lci::post_put_x(env.right(), out.data(), size, sync, 0, rmr).runtime(env.rt)();
          }));
        }
        for (uint64_t i = 0; i < rounds; ++i)
          finished(env, sync, env.post([&] {
            return lci::post_get_x(env.right(), in.data(), size, sync, 0, rmr).runtime(env.rt)();
          }));
        EXPECT(in == out);
        const lci::count_t n = with(env, env.right()).copied_by_vectors;
        EXPECT_EQ(n.bytes, n.messages * size);
        EXPECT(n.messages <= 2 * (rounds - 1));  // the first one repeats nothing
        if (how == way::pieces || !is_mapped || !has_vectors())
          EXPECT_EQ(n.messages, 0);
        else if (how == way::vectors)
          EXPECT_EQ(n.messages, 2 * (rounds - 1));
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
        lci::free_shared_x(&mr).runtime(env.rt)();
      },
      [how](lci::global_attr_t& attr) {
        counting(attr);
        attr.copy_way = how;
      });
}

TEST_CASE("attributes decide how the ends of a lane in shared memory treat its lines", "[counters]") {
  using choice = lci::attr_choice_t;
  const auto how = GENERATE(choice::always, choice::never, choice::auto_select);
  on_ranks(
      [how](rank_env& env) {
        constexpr size_t size = 1000;  // too large for slots, small enough for a packet
        constexpr uint64_t rounds = 300;
        const auto backend = lci::get_default_net_context_x().runtime(env.rt)().get_attr_backend();
        auto sync = lci::alloc_sync_x().threshold(2).runtime(env.rt)();
        const auto out = message(size, 1);
        std::vector<char> in(size);
        for (uint64_t i = 0; i < rounds; ++i) {
          (void)lci::post_recv_x(env.left(), in.data(), size, 1, sync).allow_done(false).runtime(env.rt)();
          env.post([&] {
            return lci::post_send_x(env.right(), out.data(), size, 1, sync).allow_done(false).runtime(env.rt)();
          });
          lci::sync_wait_x(sync, nullptr).runtime(env.rt)();
          EXPECT(in == out);
        }
        const auto all = with_all(env);
        if (how == choice::never) {
          expect_count(env, all.lines_written, 0, 0);
          expect_count(env, all.lines_prefetched, 0, 0);
          expect_count(env, all.long_pauses, 0, 0);
        } else if (how == choice::always && backend == lci::attr_backend_t::shm) {
          EXPECT(all.lines_written.messages > 0);
          EXPECT(all.lines_written.bytes >= rounds / 2 * size);  // polls write the rest later
          EXPECT(all.lines_prefetched.messages >= rounds);
          EXPECT(all.lines_prefetched.bytes > 0);
        }
        expect_count(env, with(env, env.left()).lines_written, 0, 0);  // not counted for each rank
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      [how](lci::global_attr_t& attr) {
        counting(attr);
        attr.shm_write_lines = attr.shm_prefetch_lines = attr.shm_long_pauses = how;
      });
}

TEST_CASE("a receiver that pauses for long gets all messages of a stream", "[counters]") {
  on_ranks(
      [](rank_env& env) {
        constexpr size_t size = 1000;  // too large for slots, small enough for a packet
        constexpr int n = 2000;
        const auto backend = lci::get_default_net_context_x().runtime(env.rt)().get_attr_backend();
        inbox box(env, inbox_kind::handler, n);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        const auto out = message(size, size);
        for (int i = 0; i < n; ++i)
          env.post(
              [&] { return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomp).runtime(env.rt)(); });
        for (const auto& a : box.collect()) EXPECT(a.data == std::string(out.begin(), out.end()));
        if (backend == lci::attr_backend_t::shm) EXPECT(with_all(env).long_pauses.messages > 0);
        env.barrier();
      },
      [](lci::global_attr_t& attr) {
        counting(attr);
        attr.shm_long_pauses = lci::attr_choice_t::always;
      });
}

TEST_CASE("posts that return retry are counted as retries, and not as messages", "[counters]") {
  if (over_libfabric()) LCI_SKIP("libfabric's providers accept any number of messages");
  on_ranks(
      [](rank_env& env) {
        constexpr uint64_t enough = 10'000'000;  // more than any network queues
        auto counter = lci::alloc_counter_x().runtime(env.rt)();
        const auto rcomp = lci::register_rcomp_x(counter).runtime(env.rt)();
        uint64_t accepted = 0, refused = 0;
        char byte = 0;
        while (refused < 3 && accepted < enough) {
          const auto s = lci::post_am_x(env.rank, &byte, 1, lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)();
          s.is_retry() ? ++refused : ++accepted;
        }
        EXPECT_EQ(refused, 3u);
        env.until("own messages",
                  [&] { return lci::counter_get_x(counter).runtime(env.rt)() == static_cast<int64_t>(accepted); });
        const auto self = with(env, env.rank);
        expect_count(env, self.retry, refused, refused);
        expect_count(env, self.am_sent, accepted, accepted);
        expect_count(env, self.am_received, accepted, accepted);
        env.barrier();
        lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
        lci::free_comp_x(&counter).runtime(env.rt)();
      },
      counting);
}

TEST_CASE("all messages of several threads are counted", "[counters]") {
  on_ranks(
      [](rank_env& env) {
        constexpr int threads = 4, each = 500;
        inbox box(env, inbox_kind::counter, threads * each);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        env.parallel(threads, [&](int) {
          const auto out = message(20, 1);
          for (int i = 0; i < each; ++i)
            env.post([&] {
              return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)();
            });
        });
        box.collect();
        expect_count(env, with(env, env.right()).am_sent, threads * each, threads * each * 20);
        expect_count(env, with(env, env.left()).am_received, threads * each, threads * each * 20);
        env.barrier();
      },
      counting);
}

TEST_CASE("each device has its own counters, and only if its attribute says so", "[counters]") {
  const auto not_by_default = [](lci::global_attr_t& attr) { attr.counters = false; };
  on_ranks(
      [](rank_env& env) {
        auto counts = lci::alloc_device_x().counters(true).runtime(env.rt)();
        EXPECT(counts.get_attr_counters());
        EXPECT(!env.device.get_attr_counters());
        EXPECT_INVALID(with_all(env), "get_counters", "LCI_ATTR_COUNTERS");
        const auto of = [&](int rank) { return lci::get_counters_x().device(counts).rank(rank).runtime(env.rt)(); };
        EXPECT_INVALID(of(env.size), "rank", std::to_string(env.size));
        EXPECT_INVALID(of(-2), "rank", "-2");
        inbox box(env, inbox_kind::counter, 2);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        char byte = 0;
        for (const auto d : {env.device, counts})
          env.post(d, [&] {
            return lci::post_am_x(env.right(), &byte, 1, lci::COMP_NULL_RETRY, rcomp).device(d).runtime(env.rt)();
          });
        env.until(counts, "the message of the device", [&] {
          env.progress();
          return of(env.left()).am_received.messages == 1;
        });
        box.collect();
        expect_count(env, of(lci::ALL_RANKS).am_sent, 1, 1);
        expect_count(env, of(lci::ALL_RANKS).am_received, 1, 1);
        env.barrier();
        lci::free_device_x(&counts).runtime(env.rt)();
      },
      not_by_default);
}

TEST_CASE("a message of a layout counts once, however many pieces it has", "[counters][layout]") {
  on_ranks(
      [](rank_env& env) {
        constexpr size_t pieces = 50, each = 16, distance = 40;
        const size_t counts[] = {each, pieces}, strides[] = {distance};
        const auto spread = lci::layout_t::strided(counts, strides, 1);
        constexpr uint64_t size = pieces * each;
        window w(env, pieces * distance);
        std::vector<char> out(pieces * distance), in(pieces * distance), got(size);
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        auto received = lci::alloc_sync_x().runtime(env.rt)();
        const lci::rmr_t rmr = w.of(env.right());
        EXPECT(
            lci::post_recv_x(env.left(), in.data(), size, 1, received).layout(&spread).runtime(env.rt)().is_posted());
        env.barrier();
        finished(env, sync, env.post([&] {
          return lci::post_send_x(env.right(), out.data(), size, 1, sync).layout(&spread).runtime(env.rt)();
        }));
        finished(env, sync, env.post([&] {
          return lci::post_put_x(env.right(), out.data(), size, sync, 0, rmr)
              .layout(&spread)
              .remote_layout(&spread)
              .runtime(env.rt)();
        }));
        finished(env, sync, env.post([&] {
          return lci::post_get_x(env.right(), got.data(), size, sync, 0, rmr).remote_layout(&spread).runtime(env.rt)();
        }));
        lci::sync_wait_x(received, nullptr).runtime(env.rt)();
        const auto to = with(env, env.right()), from = with(env, env.left());
        expect_count(env, to.send_sent, 1, size);
        expect_count(env, from.send_received, 1, size);
        expect_count(env, from.recv, 1, size);
        expect_count(env, to.put, 1, size);
        expect_count(env, to.get, 1, size);
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
        lci::free_comp_x(&received).runtime(env.rt)();
      },
      counting);
}

namespace {

lci::histogram_t times_of(rank_env& env, lci::operation_kind_t kind, size_t size) {
  return lci::get_histogram_x(kind, size).device(env.device).runtime(env.rt)();
}
/// Operations of all size classes.
uint64_t all_times_of(rank_env& env, lci::operation_kind_t kind) {
  uint64_t n = 0;
  for (size_t size = 0;;) {
    const auto h = times_of(env, kind, size);
    n += h.operations;
    if (h.largest == ~size_t{0}) return n;
    size = h.largest + 1;
  }
}

}  // namespace

TEST_CASE("the times of operations are reported by kind and size class", "[counters]") {
  on_ranks(
      [](rank_env& env) {
        using kind = lci::operation_kind_t;
        // Classes are adjacent and cover all sizes.
        size_t next = 0;
        for (int classes = 1;; ++classes) {
          const auto h = times_of(env, kind::put, next);
          EXPECT_EQ(h.smallest, next);
          EXPECT(h.largest >= h.smallest);
          EXPECT_EQ(times_of(env, kind::put, h.largest).smallest, h.smallest);
          EXPECT_EQ(h.operations, uint64_t{0});
          EXPECT_EQ(h.quantile_ns(0.5), uint64_t{0});
          if (h.largest == ~size_t{0}) break;
          EXPECT(classes < 100);
          if (classes == 100) break;
          next = h.largest + 1;
        }
        inbox box(env, inbox_kind::handler, static_cast<int>(counted_sizes.size()));
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        window w(env, 200'000);
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        std::vector<char> local(200'000);
        for (const size_t size : counted_sizes) {
          finished(env, sync, env.post([&] {
            return lci::post_am_x(env.right(), local.data(), size, sync, rcomp).runtime(env.rt)();
          }));
          finished(env, sync, env.post([&] {
            return lci::post_put_x(env.right(), local.data(), size, sync, 0, w.of(env.right())).runtime(env.rt)();
          }));
          finished(env, sync, env.post([&] {
            return lci::post_get_x(env.right(), local.data(), size, sync, 0, w.of(env.right())).runtime(env.rt)();
          }));
        }
        const uint64_t value = 1;
        finished(env, sync, env.post([&] {
          return lci::post_atomic_x(env.right(), lci::atomic_op_t::add, &value, nullptr, sync, 0, w.of(env.right()))
              .runtime(env.rt)();
        }));
        box.collect();
        for (const kind k : {kind::am, kind::put, kind::get}) {
          EXPECT_EQ(all_times_of(env, k), uint64_t{counted_sizes.size()});
          EXPECT_EQ(times_of(env, k, 200'000).operations, uint64_t{1});
          EXPECT_EQ(times_of(env, k, 0).operations, uint64_t{3});  // of 0, 5 and 48 bytes
        }
        EXPECT_EQ(times_of(env, kind::atomic, 8).operations, uint64_t{1});
        EXPECT_EQ(all_times_of(env, kind::recv), uint64_t{0});
        // The time of a receive ends when its message has arrived; a cancelled receive has none.
        env.barrier();
        constexpr double pause = 0.02;
        char byte = 0;
        const auto r = env.post([&] { return lci::post_recv_x(env.left(), &byte, 1, 9, sync).runtime(env.rt)(); });
        auto never = lci::alloc_sync_x().runtime(env.rt)();
        lci::operation_t name;
        EXPECT(lci::post_recv_x(env.left(), &byte, 1, 10, never).operation(&name).runtime(env.rt)().is_posted());
        EXPECT(lci::cancel(name));
        lci::sync_wait_x(never, nullptr).runtime(env.rt)();
        std::this_thread::sleep_for(std::chrono::duration<double>(pause));
        env.barrier();
        finished(env, sync, env.post([&] {
          return lci::post_send_x(env.right(), &byte, 1, 9, lci::COMP_NULL_RETRY).runtime(env.rt)();
        }));
        finished(env, sync, r);
        const auto h = times_of(env, kind::recv, 1);
        EXPECT_EQ(h.operations, uint64_t{1});
        EXPECT_EQ(std::accumulate(std::begin(h.counts), std::end(h.counts), uint64_t{0}), uint64_t{1});
        EXPECT(h.mean_ns() >= pause * 1e9);
        EXPECT_EQ(h.total_ns, static_cast<uint64_t>(h.mean_ns()));
        EXPECT(h.quantile_ns(0.5) > h.total_ns && h.quantile_ns(0.5) <= 2 * h.total_ns);
        EXPECT_EQ(all_times_of(env, kind::send), uint64_t{1});
        EXPECT_INVALID(times_of(env, static_cast<kind>(6), 0), "kind", "6");
        auto blind = lci::alloc_device_x().counters(false).runtime(env.rt)();
        EXPECT_INVALID(lci::get_histogram_x(kind::am, 0).device(blind).runtime(env.rt)(), "device", "counters(true)");
        lci::free_device_x(&blind).runtime(env.rt)();
        env.barrier();
        lci::free_comp_x(&never).runtime(env.rt)();
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      counting);
}
