// Thread domains and on-demand paging with the fake libibverbs, whose card supports them.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "lci.hpp"
#include "network/ibv/domains.hpp"
#include "network/ibv/handles.hpp"
#include "network/ibv/library.hpp"
#include "tests/ibv/fake_verbs.hpp"

using namespace lci::network;

namespace {

/// The card in its initial state.
fake_card& fresh_card() {
  static fake_card& card = [&]() -> fake_card& {
    REQUIRE(ibv::library::get().missing.empty());
    void* const loaded = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(loaded != nullptr);
    auto* const get = reinterpret_cast<fake_card* (*)()>(dlsym(loaded, "fake_verbs_card"));
    REQUIRE(get != nullptr);  // otherwise LD_LIBRARY_PATH does not contain the fake library
    return *get();
  }();
  card = fake_card();
  return card;
}

/// Sets default attributes until it is destroyed.
class with_defaults {
 public:
  template <class F>
  explicit with_defaults(F change) : before_(lci::get_g_default_attr()) {
    lci::global_attr_t attr = before_;
    attr.backend = lci::attr_backend_t::ibv;
    attr.npackets = 512;
    attr.net_max_recvs = 64;
    change(attr);
    lci::set_g_default_attr(attr);
  }
  ~with_defaults() { lci::set_g_default_attr(before_); }

 private:
  const lci::global_attr_t before_;
};

/// Messages of all protocols, puts and gets, to the same rank.
void communicate(lci::runtime_t rt, lci::device_t device) {
  auto cq = lci::alloc_cq_x().runtime(rt)();
  const auto rcomp = lci::register_rcomp_x(cq).runtime(rt)();
  for (const size_t size : {size_t{8}, size_t{2000}, size_t{300'000}}) {
    std::vector<char> out(size), back(size), there(size);
    std::iota(out.begin(), out.end(), '\1');
    lci::status_t sent, arrived;
    const auto am = lci::post_am_x(0, out.data(), size, lci::COMP_NULL_RETRY, rcomp).device(device).runtime(rt);
    auto sync = lci::alloc_sync_x().runtime(rt)();
    do sent = lci::post_am_x(0, out.data(), size, sync, rcomp).device(device).runtime(rt)();
    while (sent.is_retry() && (lci::progress_x().device(device).runtime(rt)(), true));
    while (!(arrived = lci::cq_pop_x(cq).runtime(rt)()).is_done()) lci::progress_x().device(device).runtime(rt)();
    CHECK(arrived.size == size);
    CHECK(std::memcmp(arrived.buffer, out.data(), size) == 0);
    std::free(arrived.buffer);
    if (sent.is_posted()) lci::sync_wait_x(sync, nullptr).device(device).runtime(rt)();
    auto mr = lci::register_memory_x(there.data(), size).device(device).runtime(rt)();
    const auto rmr = lci::get_rmr_x(mr).runtime(rt)();
    CHECK(lci::post_put_x(0, out.data(), size, lci::COMP_NULL, 0, rmr)
              .comp_semantic(lci::comp_semantic_t::remote)
              .device(device)
              .runtime(rt)()
              .is_done());
    CHECK(there == out);
    CHECK(lci::post_get_x(0, back.data(), size, lci::COMP_NULL, 0, rmr).device(device).runtime(rt)().is_done());
    CHECK(back == out);
    lci::deregister_memory_x(&mr).runtime(rt)();
    lci::free_comp_x(&sync).runtime(rt)();
    static_cast<void>(am);
  }
  lci::deregister_rcomp_x(rcomp).runtime(rt)();
  lci::free_comp_x(&cq).runtime(rt)();
}

/// Checks that a runtime with these defaults works, and leaves no object of the card.
template <class F, class G>
void run(fake_card& card, F change, G look) {
  const with_defaults defaults(change);
  lci::runtime_t rt = lci::alloc_runtime();
  auto second = lci::alloc_device_x().runtime(rt)();
  look(rt);
  communicate(rt, lci::get_default_device_x().runtime(rt)());
  communicate(rt, second);
  lci::free_device_x(&second).runtime(rt)();
  lci::free_runtime(&rt);
  CHECK(card.messages > 0);
  CHECK(card.writes + card.reads > 0);
  CHECK(card.mistakes == 0);
  CHECK(card.contexts + card.domains + card.threads + card.pairs + card.queues == 0);
  CHECK(card.pinned + card.on_demand + card.whole == 0);
}

}  // namespace

TEST_CASE("a read-only registration does not forbid atomics on others that share its key", "[ibv]") {
  fake_card& card = fresh_card();
  const with_defaults defaults(
      [](lci::global_attr_t& attr) { attr.ibv_odp_strategy = lci::attr_ibv_odp_strategy_t::implicit_odp; });
  auto rt = lci::alloc_runtime();
  std::vector<uint64_t> constants(10), counts(10);
  const size_t size = counts.size() * sizeof(uint64_t);
  auto fixed = lci::register_memory_x(constants.data(), size).read_only(true).runtime(rt)();
  auto mr = lci::register_memory_x(counts.data(), size).runtime(rt)();
  const lci::rmr_t rmr = lci::get_rmr_x(mr).runtime(rt)();
  REQUIRE(rmr.opaque_rkey == lci::get_rmr_x(fixed).runtime(rt)().opaque_rkey);
  const uint64_t one = 1;
  lci::post_atomic_x(0, lci::atomic_op_t::add, &one, nullptr, lci::COMP_NULL, 0, rmr).runtime(rt)();
  CHECK(counts[0] == 1);
  lci::deregister_memory_x(&mr).runtime(rt)();
  lci::deregister_memory_x(&fixed).runtime(rt)();
  lci::free_runtime(&rt);
  CHECK(card.mistakes == 0);
}

TEST_CASE("registrations that were not ended end with their device", "[ibv]") {
  fake_card& card = fresh_card();
  const with_defaults defaults([](lci::global_attr_t&) {});
  auto rt = lci::alloc_runtime();
  const int domains = card.domains, registrations = card.pinned + card.on_demand + card.whole;
  std::vector<char> memory(10'000);
  auto device = lci::alloc_device_x().runtime(rt)();
  auto mr = lci::register_memory_x(memory.data(), memory.size()).device(device).runtime(rt)();
  lci::free_device_x(&device).runtime(rt)();
  CHECK(card.pinned + card.on_demand + card.whole == registrations);
  CHECK(card.domains == domains);
  lci::deregister_memory_x(&mr).runtime(rt)();
  CHECK(mr.is_empty());
  lci::free_runtime(&rt);
  CHECK(card.domains == 0);
  CHECK(card.mistakes == 0);
}

TEST_CASE("queue pairs get thread domains according to the strategy", "[ibv]") {
  using strategy = lci::attr_ibv_td_strategy_t;
  fake_card& card = fresh_card();
  for (const auto& [how, threads] : {std::pair(strategy::per_qp, 4), {strategy::all_qp, 1}, {strategy::none, 0}}) {
    int n = 0;
    ibv::owned<ibv_device*> list(ibv::library::get().get_device_list(&n));
    const ibv::owned<ibv_context> context(ibv::library::get().open_device(list.get()[0]));
    const auto base = ibv::made(ibv::library::get().alloc_pd(context.get()), "alloc_pd");
    {
      ibv::domains domains(*context, *base, how);
      std::set<const ibv_pd*> given;
      for (int i = 0; i < 4; ++i) given.insert(&domains.next());
      CHECK(given.size() == static_cast<size_t>(threads == 0 ? 1 : threads));
      CHECK(given.count(base.get()) == (threads == 0 ? 1 : 0));
      CHECK(card.threads == threads);
      CHECK(domains.error() == 0);
    }
    CHECK(card.threads == 0);
    CHECK(card.domains == 1);
  }
}

TEST_CASE("a card without thread domains is asked for one once, and used without", "[ibv]") {
  fake_card& card = fresh_card();
  card.thread_domains = false;
  run(
      card, [](auto& a) { a.ibv_td_strategy = lci::attr_ibv_td_strategy_t::per_qp; },
      [&](lci::runtime_t) {
        CHECK(card.threads_of_pairs == std::vector<const void*>{nullptr, nullptr});
      });
}

TEST_CASE("devices communicate with any strategy of thread domains", "[ibv]") {
  using strategy = lci::attr_ibv_td_strategy_t;
  for (const auto how : {strategy::per_qp, strategy::all_qp, strategy::none}) {
    fake_card& card = fresh_card();
    run(
        card, [&](auto& a) { a.ibv_td_strategy = how; },
        [&](lci::runtime_t) {
          REQUIRE(card.threads_of_pairs.size() == 2);  // of two devices
          const bool wanted = how != strategy::none;
          CHECK(card.threads == (wanted ? 2 : 0));
          CHECK((card.threads_of_pairs[0] != nullptr) == wanted);
          CHECK((card.threads_of_pairs[0] != card.threads_of_pairs[1]) == wanted);
        });
  }
}

TEST_CASE("memory is pinned or paged on demand, according to the strategy", "[ibv]") {
  using strategy = lci::attr_ibv_odp_strategy_t;
  for (const auto how : {strategy::none, strategy::explicit_odp, strategy::implicit_odp}) {
    fake_card& card = fresh_card();
    run(
        card, [&](auto& a) { a.ibv_odp_strategy = how; },
        [&](lci::runtime_t rt) {
          const int pinned = card.pinned, on_demand = card.on_demand;
          std::vector<char> memory(5000);
          auto mr = lci::register_memory_x(memory.data(), memory.size()).runtime(rt)();
          CHECK(card.pinned == (how == strategy::none ? pinned + 1 : 0));
          CHECK(card.on_demand == (how == strategy::explicit_odp ? on_demand + 1 : 0));
          CHECK(card.whole == (how == strategy::implicit_odp ? 2 : 0));  // of two devices
          lci::deregister_memory_x(&mr).runtime(rt)();
          CHECK(card.pinned == pinned);
          CHECK(card.on_demand == on_demand);
        });
    CHECK((card.pinned_made > 0) == (how == strategy::none));
    CHECK((card.on_demand_made > 0) == (how != strategy::none));
  }
}

TEST_CASE("a card that supports less paging than requested is used with what it supports", "[ibv]") {
  using strategy = lci::attr_ibv_odp_strategy_t;
  for (const bool some : {false, true}) {
    fake_card& card = fresh_card();
    card.paging = some;
    card.implicit_paging = false;
    run(
        card, [&](auto& a) { a.ibv_odp_strategy = strategy::implicit_odp; },
        [&](lci::runtime_t) {
          CHECK(card.whole == 0);
          CHECK((card.on_demand > 0) == some);
          CHECK((card.pinned > 0) == !some);
        });
  }
}

TEST_CASE("paged memory gets the requested advice, which the card may refuse", "[ibv]") {
  using strategy = lci::attr_ibv_prefetch_strategy_t;
  using paging = lci::attr_ibv_odp_strategy_t;
  struct {
    strategy wanted;
    int advice;  // -1: none
  } const all[] = {{strategy::none, -1},
                   {strategy::prefetch, IBV_ADVISE_MR_ADVICE_PREFETCH},
                   {strategy::prefetch_write, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE},
                   {strategy::prefetch_no_fault, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT}};
  for (const auto& each : all)
    for (const auto how : {paging::none, paging::explicit_odp, paging::implicit_odp})
      for (const bool can : {true, false}) {
        fake_card& card = fresh_card();
        card.advice = can;
        run(
            card, [&](auto& a) { a.ibv_prefetch_strategy = each.wanted, a.ibv_odp_strategy = how; },
            [](lci::runtime_t) {});
        const bool expected = can && how != paging::none && each.advice >= 0;
        CHECK(card.advices.empty() == !expected);
        for (const int advice : card.advices) CHECK(advice == each.advice);
      }
}
