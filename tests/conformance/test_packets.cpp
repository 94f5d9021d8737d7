// Packets that the user owns: assembled in place before a post, or delivered as packets.
#include <algorithm>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

void few_packets(lci::global_attr_t& attr) { attr.npackets = 1024; }

}  // namespace

TEST_CASE("a message assembled in a packet is sent, and the packet returns to its pool", "[packets]") {
  on_ranks(
      [](rank_env& env) {
        const size_t room = lci::get_max_bcopy_size_x().runtime(env.rt)();
        EXPECT(room >= 4000);
        // Many more messages than there are packets.
        constexpr int count = 1500;
        inbox box(env, inbox_kind::in_place_handler, 1);
        const auto rcomps = env.all_gather(box.rcomp());
        for (int i = 0; i < count; ++i) {
          const size_t sizes[] = {8, 60, 1000, room};
          const size_t size = sizes[i % 4];
          void* packet = nullptr;
          env.until("a packet", [&] { return (packet = lci::get_upacket_x().runtime(env.rt)()) != nullptr; });
          fill(packet, size, static_cast<uint64_t>(i + env.rank));
          const auto s = env.post([&] {
            return lci::post_am_x(env.right(), packet, size, lci::COMP_NULL_RETRY,
                                  rcomps[static_cast<size_t>(env.right())])
                .tag(static_cast<lci::tag_t>(i))
                .runtime(env.rt)();
          });
          EXPECT(s.is_done());
          const auto a = box.collect().front();  // messages may arrive in another order: the tag identifies them
          EXPECT_EQ(a.data.size(), sizes[a.status.tag % 4]);
          EXPECT(matches(a.data.data(), a.data.size(), a.status.tag + static_cast<uint64_t>(env.left())));
          if (i % 500 == 0) env.barrier();
        }
      },
      few_packets);
}

TEST_CASE("packets of a device's own pool return to it, whatever the size of their messages", "[packets]") {
  on_ranks(
      [](rank_env& env) {
        auto pool = lci::alloc_packet_pool_x().npackets(1024).runtime(env.rt)();
        auto device = lci::alloc_device_x().packet_pool(pool).runtime(env.rt)();
        inbox box(env, inbox_kind::in_place_handler, 1);
        const auto right = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        for (int i = 0; i < 1500; ++i) {  // more messages than there are packets
          const size_t size = i % 2 == 0 ? 8 : 1000;
          void* packet = nullptr;
          env.until(device, "a packet",
                    [&] { return (packet = lci::get_upacket_x().packet_pool(pool).runtime(env.rt)()) != nullptr; });
          fill(packet, size, 1);
          EXPECT(env.post(device,
                          [&] {
                            return lci::post_am_x(env.right(), packet, size, lci::COMP_NULL_RETRY, right)
                                .device(device)
                                .runtime(env.rt)();
                          })
                     .is_done());
          env.until(device, "a message", [&] { return !box.empty(); });
          box.collect();
        }
        env.barrier();
        lci::free_device_x(&device).runtime(env.rt)();
        lci::free_packet_pool_x(&pool).runtime(env.rt)();
      },
      few_packets);
}

TEST_CASE("packets can be taken and given back any number of times, and run out if not given back", "[packets]") {
  on_ranks(
      [](rank_env& env) {
        std::vector<void*> kept;
        for (int round = 0; round < 5; ++round) {
          while (void* p = lci::get_upacket_x().runtime(env.rt)()) {
            kept.push_back(p);
            if (kept.size() > 2000) break;
          }
          EXPECT(kept.size() >= 256);
          EXPECT(kept.size() <= 1024);
          std::sort(kept.begin(), kept.end());
          EXPECT(std::unique(kept.begin(), kept.end()) == kept.end());
          for (void* p : kept) lci::put_upacket_x(p).runtime(env.rt)();
          kept.clear();
        }
      },
      few_packets);
}

TEST_CASE("the library tells payloads of packets from other memory", "[packets]") {
  on_ranks(
      [](rank_env& env) {
        const auto is_packet = [&](const void* p) { return lci::is_upacket_x(p).runtime(env.rt)(); };
        auto pool = lci::alloc_packet_pool_x().packet_size(4096).npackets(64).runtime(env.rt)();
        const auto heap = std::make_unique<char[]>(100'000);
        int local = 0;
        for (const void* p : {static_cast<const void*>(nullptr), static_cast<const void*>(&local),
                              static_cast<const void*>(heap.get() + 50'000), static_cast<const void*>(&env)})
          EXPECT(!is_packet(p));
        for (const bool own : {false, true}) {
          void* packet =
              own ? lci::get_upacket_x().packet_pool(pool).runtime(env.rt)() : lci::get_upacket_x().runtime(env.rt)();
          EXPECT(packet != nullptr && is_packet(packet));
          EXPECT(!is_packet(static_cast<char*>(packet) + 1) && !is_packet(static_cast<char*>(packet) + 64));
          lci::put_upacket_x(packet).runtime(env.rt)();
        }
        // A message that arrives for an object with `zero_copy_am`, and one for which there was no packet.
        auto cq = lci::alloc_cq_x().zero_copy_am(true).runtime(env.rt)();
        const auto to = lci::register_rcomp_x(cq).runtime(env.rt)();
        const auto right = env.all_gather(to)[static_cast<size_t>(env.right())];
        for (const size_t size : {size_t{1000}, size_t{100'000}}) {
          const auto out = message(size, 1);
          auto sync = lci::alloc_sync_x().runtime(env.rt)();
          auto s =
              env.post([&] { return lci::post_am_x(env.right(), out.data(), size, sync, right).runtime(env.rt)(); });
          lci::status_t r;
          env.until("a message", [&] { return (r = lci::cq_pop_x(cq).runtime(env.rt)()).is_done(); });
          EXPECT(r.size == size && matches(r.buffer, size, 1));
          EXPECT_EQ(is_packet(r.buffer), size == 1000);
          lci::put_upacket_x(r.buffer).runtime(env.rt)();
          if (s.is_posted()) env.until("the send", [&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
          lci::free_comp_x(&sync).runtime(env.rt)();
          env.barrier();
        }
        lci::deregister_rcomp_x(to).runtime(env.rt)();
        lci::free_comp_x(&cq).runtime(env.rt)();
        lci::free_packet_pool_x(&pool).runtime(env.rt)();
      },
      few_packets);
}

TEST_CASE("without a free packet posts return retry, and succeed when packets are free again", "[packets]") {
  on_ranks(
      [](rank_env& env) {
        inbox box(env, inbox_kind::counter, 1);
        const auto rcomps = env.all_gather(box.rcomp());
        std::vector<void*> kept;
        while (void* p = lci::get_upacket_x().runtime(env.rt)()) kept.push_back(p);
        EXPECT(!kept.empty());
        const auto out = message(lci::get_max_bcopy_size_x().runtime(env.rt)(), 1);
        auto post = [&] {
          return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY,
                                rcomps[static_cast<size_t>(env.right())])
              .runtime(env.rt)();
        };
        // A network that copies during the post needs no packet: then the message is sent.
        const auto s = post();
        if (s.is_retry())
          EXPECT_EQ(s.error, lci::error_t(lci::errorcode_t::retry_nopacket));
        else
          EXPECT(s.is_done());
        for (void* p : kept) lci::put_upacket_x(p).runtime(env.rt)();
        if (s.is_retry()) EXPECT(env.post(post).is_done());
        box.collect();
        env.barrier();
      },
      few_packets);
}

TEST_CASE("packets with messages can be used again when they were given back", "[packets]") {
  const auto kind = GENERATE(inbox_kind::packet_handler, inbox_kind::packet_queue);
  INFO(name_of(kind));
  on_ranks(
      [kind](rank_env& env) {
        constexpr int count = 2000;
        inbox box(env, kind, 1);
        const auto rcomps = env.all_gather(box.rcomp());
        for (int i = 0; i < count; ++i) {
          const auto out = message(static_cast<size_t>(i % 2000), static_cast<uint64_t>(i));
          env.post([&] {
            return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY,
                                  rcomps[static_cast<size_t>(env.right())])
                .tag(static_cast<lci::tag_t>(i))
                .runtime(env.rt)();
          });
          const auto a = box.collect().front();
          EXPECT_EQ(a.data.size(), a.status.tag % 2000);
          EXPECT(matches(a.data.data(), a.data.size(), a.status.tag));
        }
      },
      few_packets);
}

TEST_CASE("posts can use a packet pool of the user", "[packets]") {
  on_ranks([](rank_env& env) {
    auto pool = lci::alloc_packet_pool_x().packet_size(4096).npackets(64).runtime(env.rt)();
    lci::register_packet_pool_x(pool, env.device).runtime(env.rt)();
    const size_t room = lci::get_max_bcopy_size_x().packet_pool(pool).runtime(env.rt)();
    EXPECT(room < 4096);
    EXPECT(room > 3500);
    inbox box(env, inbox_kind::counter, 1);
    const auto rcomps = env.all_gather(box.rcomp());
    for (int i = 0; i < 300; ++i) {
      const auto out = message(1000, 1);
      env.post([&] {
        return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY,
                              rcomps[static_cast<size_t>(env.right())])
            .packet_pool(pool)
            .runtime(env.rt)();
      });
      box.collect();
    }
    env.barrier();
    env.until("the device to be drained", [&] { return lci::test_drained_x().runtime(env.rt)().is_done(); });
    EXPECT(box.empty());
    lci::deregister_packet_pool_x(pool, env.device).runtime(env.rt)();
    lci::free_packet_pool_x(&pool).runtime(env.rt)();
  });
}

TEST_CASE("a message that needs a packet of an unregistered pool is sent or refused, and all packets return",
          "[packets]") {
  on_ranks([](rank_env& env) {
    constexpr size_t count = 64;
    auto pool = lci::alloc_packet_pool_x().packet_size(4096).npackets(count).runtime(env.rt)();
    inbox box(env, inbox_kind::counter, 1);
    const auto out = message(2000, 1);
    int sent = 0;
    for (int i = 0; i < 3; ++i) {
      try {
        env.post([&] {
          return lci::post_am_x(env.rank, out.data(), out.size(), lci::COMP_NULL_RETRY, box.rcomp())
              .packet_pool(pool)
              .runtime(env.rt)();
        });
        ++sent;
      } catch (const lci::invalid_argument_error&) {
        // This network sends from registered memory only.
      }
    }
    for (; sent > 0; --sent) box.collect();
    env.until("the device to be drained", [&] { return lci::test_drained_x().runtime(env.rt)().is_done(); });
    std::vector<void*> packets;
    env.until("all packets", [&] {
      while (void* const p = lci::get_upacket_x().packet_pool(pool).runtime(env.rt)()) packets.push_back(p);
      return packets.size() >= count;
    });
    EXPECT_EQ(packets.size(), count);
    for (void* p : packets) lci::put_upacket_x(p).runtime(env.rt)();
    lci::free_packet_pool_x(&pool).runtime(env.rt)();
  });
}

TEST_CASE("a message larger than the packets of the pool it is posted with arrives whole", "[packets]") {
  on_ranks([](rank_env& env) {
    auto pool = lci::alloc_packet_pool_x().packet_size(4096).npackets(64).runtime(env.rt)();
    lci::register_packet_pool_x(pool, env.device).runtime(env.rt)();
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomps = env.all_gather(box.rcomp());
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    for (const size_t size : {size_t{4000}, size_t{5000}, size_t{8000}}) {
      const auto out = message(size, size);
      auto s = env.post([&] {
        return lci::post_am_x(env.right(), out.data(), size, sync, rcomps[static_cast<size_t>(env.right())])
            .tag(size)
            .packet_pool(pool)
            .runtime(env.rt)();
      });
      // The left neighbour may be ahead of this rank, and the network need not keep the order.
      const auto a = box.collect().front();
      EXPECT(a.data.size() == a.status.tag && matches(a.data.data(), a.data.size(), a.status.tag));
      if (!s.is_done()) env.until("the send", [&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
    }
    env.barrier();
    env.until("the device to be drained", [&] { return lci::test_drained_x().runtime(env.rt)().is_done(); });
    lci::free_comp_x(&sync).runtime(env.rt)();
    lci::deregister_packet_pool_x(pool, env.device).runtime(env.rt)();
    lci::free_packet_pool_x(&pool).runtime(env.rt)();
  });
}

TEST_CASE("a message from larger packets than the receiver has is delivered in an allocated buffer", "[packets]") {
  on_ranks([](rank_env& env) {
    // Neighbours have packets of different sizes.
    const size_t packet_size = env.rank % 2 == 0 ? 16384 : 4096;
    auto pool = lci::alloc_packet_pool_x().packet_size(packet_size).npackets(64).runtime(env.rt)();
    auto device = lci::alloc_device_x().packet_pool(pool).runtime(env.rt)();
    auto arrivals = lci::alloc_cq_x().zero_copy_am(true).runtime(env.rt)();
    const auto rcomps = env.all_gather(lci::register_rcomp_x(arrivals).runtime(env.rt)());
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    for (const size_t size : {size_t{100}, size_t{3000}, size_t{5000}, size_t{15000}}) {
      const auto out = message(size, size);
      auto sent = env.post(device, [&] {
        return lci::post_am_x(env.right(), out.data(), size, sync, rcomps[static_cast<size_t>(env.right())])
            .device(device)
            .packet_pool(pool)
            .runtime(env.rt)();
      });
      lci::status_t got = lci::errorcode_t::retry;
      env.until(device, "both messages", [&] {
        if (!sent.is_done()) lci::sync_test_x(sync, &sent).runtime(env.rt)();
        if (!got.is_done()) got = lci::cq_pop_x(arrivals).runtime(env.rt)();
        // Drained, so the neighbour needs no more progress here: no thread makes any afterwards.
        return sent.is_done() && got.is_done() && lci::test_drained_x().device(device).runtime(env.rt)().is_done();
      });
      EXPECT(got.size == size && matches(got.buffer, size, size));
      lci::put_upacket_x(got.buffer).runtime(env.rt)();
      env.barrier();
    }
    lci::free_comp_x(&sync).runtime(env.rt)();
    lci::free_comp_x(&arrivals).runtime(env.rt)();
    lci::free_device_x(&device).runtime(env.rt)();
    lci::free_packet_pool_x(&pool).runtime(env.rt)();
  });
}

TEST_CASE("a packet that is sent by rendezvous returns to its pool, too", "[packets]") {
  on_ranks(
      [](rank_env& env) {
        inbox box(env, inbox_kind::queue_lcrq, 1);
        const auto rcomps = env.all_gather(box.rcomp());
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        const size_t size = lci::get_max_bcopy_size_x().runtime(env.rt)();
        for (uint64_t i = 0; i < 500; ++i) {
          void* packet = nullptr;
          env.until("a packet", [&] { return (packet = lci::get_upacket_x().runtime(env.rt)()) != nullptr; });
          fill(packet, size, i);
          auto s = env.post([&] {
            return lci::post_am_x(env.right(), packet, size, sync, rcomps[static_cast<size_t>(env.right())])
                .tag(i)
                .runtime(env.rt)();
          });
          const auto a = box.collect().front();  // messages may arrive in another order
          EXPECT(matches(a.data.data(), size, a.status.tag));
          if (!s.is_done()) env.until("the send", [&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
        }
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      [](lci::global_attr_t& a) {
        few_packets(a);
        a.rdv_threshold = 1024;
      });
}

TEST_CASE("a packet pool that a device uses can't be freed", "[packets]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    const auto alloc = [&] {
      return lci::alloc_packet_pool_x().packet_size(4096).npackets(64).name("mine").runtime(rt)();
    };
    auto pool = alloc();
    lci::register_packet_pool_x(pool, env.device).runtime(rt)();
    lci::register_packet_pool_x(pool, env.device).runtime(rt)();
    for (int left = 2; left > 0; --left) {
      EXPECT_INVALID(lci::free_packet_pool_x(&pool).runtime(rt)(), "packet_pool", "deregister_packet_pool");
      EXPECT(!pool.is_empty());
      lci::deregister_packet_pool_x(pool, env.device).runtime(rt)();
    }
    EXPECT_INVALID(lci::deregister_packet_pool_x(pool, env.device).runtime(rt)(), "packet_pool", "mine");
    void* const held = lci::get_upacket_x().packet_pool(pool).runtime(rt)();
    EXPECT_INVALID(lci::free_packet_pool_x(&pool).runtime(rt)(), "packet_pool", "put_upacket");
    lci::put_upacket_x(held).runtime(rt)();
    lci::free_packet_pool_x(&pool).runtime(rt)();

    // The pool that a device was allocated with is in use until the device is freed.
    auto own = alloc();
    auto device = lci::alloc_device_x().packet_pool(own).runtime(rt)();
    EXPECT_INVALID(lci::free_packet_pool_x(&own).runtime(rt)(), "packet_pool", "free the devices");
    EXPECT_INVALID(lci::deregister_packet_pool_x(own, device).runtime(rt)(), "packet_pool", "own");
    lci::register_packet_pool_x(own, device).runtime(rt)();
    lci::deregister_packet_pool_x(own, device).runtime(rt)();
    EXPECT_INVALID(lci::deregister_packet_pool_x(own, device).runtime(rt)(), "packet_pool", "own");
    env.barrier();
    lci::free_device_x(&device).runtime(rt)();
    lci::free_packet_pool_x(&own).runtime(rt)();
    EXPECT(own.is_empty());
  });
}

namespace {

/// The state of the answering handler, one for each rank, as ranks may share a process.
struct answering {
  lci::runtime_t rt;
  lci::rcomp_t to = 0;
  lci::comp_t done;
  std::vector<char> reply;
};
answering* answering_of[64];  // by rank, since any thread may run a rank's handler

void answer(lci::status_t request) {
  answering& a = *answering_of[rank_env::mine().rank];
  lci::post_am_x(request.rank, a.reply.data(), a.reply.size(), a.done, a.to).allow_retry(false).runtime(a.rt)();
}

}  // namespace

TEST_CASE("a handler's answer is sent and arrives while the program holds all packets", "[packets][handlers]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        answering a;
        a.rt = rt;
        a.reply = message(1500, 77);
        a.done = lci::alloc_counter_x().runtime(rt)();
        answering_of[env.rank] = &a;
        auto cq = lci::alloc_cq_x().zero_copy_am(true).runtime(rt)();
        auto handler = lci::alloc_handler_x(answer).am_in_place(true).runtime(rt)();
        a.to = lci::register_rcomp_x(cq).runtime(rt)();
        const auto ask = lci::register_rcomp_x(handler).runtime(rt)();
        env.barrier();
        std::vector<void*> kept;
        while (void* p = lci::get_upacket_x().runtime(rt)()) kept.push_back(p);
        EXPECT(!kept.empty());
        env.barrier();  // now no rank has a free packet
        constexpr int questions = 60;
        for (int i = 0; i < questions; ++i)
          env.post([&] { return lci::post_am_x(env.right(), "?", 1, lci::COMP_NULL_RETRY, ask).runtime(rt)(); });
        for (int got = 0; got < questions;) {
          const lci::status_t s = lci::cq_pop_x(cq).runtime(rt)();
          if (s.is_retry()) {
            env.progress();
            continue;
          }
          ++got;
          EXPECT(s.size == a.reply.size() && matches(s.buffer, s.size, 77));
          lci::put_upacket_x(s.buffer).runtime(rt)();
        }
        env.barrier();
        env.until("the device to be drained", [&] { return lci::test_drained_x().runtime(rt)().is_done(); });
        for (void* p : kept) lci::put_upacket_x(p).runtime(rt)();
        lci::deregister_rcomp_x(ask).runtime(rt)();
        lci::deregister_rcomp_x(a.to).runtime(rt)();
        for (lci::comp_t* c : {&cq, &handler, &a.done}) lci::free_comp_x(c).runtime(rt)();
        env.barrier();
      },
      few_packets);
}

TEST_CASE("a message that completes at the network writes to no packet but its own, whatever its size", "[packets]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        const size_t room = lci::get_max_bcopy_size_x().runtime(rt)();
        inbox box(env, inbox_kind::in_place_handler, 1);
        const auto right = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        auto sync = lci::alloc_sync_x().runtime(rt)();
        std::vector<std::byte*> kept;
        while (void* p = lci::get_upacket_x().runtime(rt)()) kept.push_back(static_cast<std::byte*>(p));
        EXPECT(kept.size() > 2);
        std::sort(kept.begin(), kept.end());
        for (size_t i = 0; i < kept.size(); ++i) fill(kept[i], room, i);
        // The only free packet has others on both sides.
        const size_t free = kept.size() / 2;
        lci::put_upacket_x(kept[free]).runtime(rt)();
        env.barrier();
        for (const size_t size : {room - 1, room, room + 1, room * 3 / 2, 2 * room - 64, 2 * room + 100, 3 * room}) {
          const auto out = message(size, size);
          const auto s = finished(env, sync, env.post([&] {
            return lci::post_am_x(env.right(), out.data(), size, sync, right)
                .comp_semantic(lci::comp_semantic_t::network)
                .runtime(rt)();
          }));
          EXPECT(s.is_done());
          const auto a = box.collect().front();
          EXPECT(a.data.size() == size && matches(a.data.data(), size, size));
          env.barrier();
        }
        for (size_t i = 0; i < kept.size(); ++i) {
          if (i == free) continue;
          EXPECT(matches(kept[i], room, i));
          lci::put_upacket_x(kept[i]).runtime(rt)();
        }
        lci::free_comp_x(&sync).runtime(rt)();
        env.barrier();
      },
      few_packets);
}
