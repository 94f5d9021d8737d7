// One allocation after the other fails while deadlines pass, peers fail or leave, connections are made, and messages
// wait: every operation ends all the same.
#include <array>
#include <string>

#include "lib/core/memory/packet_pool.hpp"
#include "network/sim/world.hpp"
#include "tests/sim/failing_memory.hpp"

using namespace sim_test;

namespace {

/// Calls f(good) for good = 0, 1, ... until no allocation has failed in it. f() makes the allocation after `good` ones
/// fail. Returns how many calls there were with a failure.
template <class F>
int for_each_allocation(F f) {
  int n = 0;
  for (long good = 0; good < 1000; ++good, ++n) {
    INFO("after " << good << " allocations");
    f(good);
    if (failing_memory::failures() == 0) return n;
  }
  FAIL("allocations without end");
  return n;
}

/// Makes progress on one rank while the `bad` allocations after `good` ones fail. Returns how often a failure of a peer
/// was reported.
int progress_without_memory(lci::runtime_t rt, lci::device_t device, long good, int rounds = 300, long bad = 1) {
  const failing_memory some(0, good, bad);
  int reported = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      (void)lci::progress_x().runtime(rt).device(device)();
    } catch (const lci::peer_failure_error&) {
      ++reported;
    } catch (const lci::resource_error&) {
    }
  }
  return reported;
}
int progress_without_memory(lci::runtime_t rt, long good) {
  return progress_without_memory(rt, lci::get_default_device_x().runtime(rt)(), good);
}

/// Two ranks, of which rank 1 has failed. Rank 0 has posted five receives from it and a send to it.
class job_with_failed_peer {
 public:
  job_with_failed_peer() {
    for (lci::comp_t& sync : syncs_) sync = lci::alloc_sync_x().runtime(survivor())();
    for (size_t i = 0; i < 5; ++i)
      REQUIRE(lci::post_recv_x(1, in_, sizeof in_, 5, syncs_[i]).runtime(survivor())().is_posted());
    REQUIRE(lci::post_send_x(1, out_.data(), out_.size(), 5, syncs_[5]).runtime(survivor())().is_posted());
    lci::network::sim::world::current()->kill(1);
  }
  lci::runtime_t survivor() { return job_[0]; }
  /// Checks that all operations have ended with an error.
  void expect_failures() {
    for (lci::comp_t& sync : syncs_) {
      lci::status_t s;
      CHECK(lci::sync_test_x(sync, &s).runtime(survivor())());
      CHECK(s.error.errorcode == lci::errorcode_t::fatal);
      lci::free_comp_x(&sync).runtime(survivor())();
    }
    CHECK(lci::test_drained_x().runtime(survivor())().is_done());
    for (int i = 0; i < 300; ++i) {
      try {
        (void)lci::progress_x().runtime(job_[1])();
      } catch (const lci::peer_failure_error&) {
      }
    }
  }

 private:
  small_job job_{2};
  char in_[8];
  const std::string out_ = std::string(50'000, 'x');
  std::array<lci::comp_t, 6> syncs_;
};

}  // namespace

TEST_CASE("a post with a deadline that throws for lack of memory has posted nothing") {
  const int n = for_each_allocation([](long good) {
    small_job job(1);
    auto sync = lci::alloc_sync_x().runtime(job[0])();
    char in[8] = "before", other[8] = {};
    lci::status_t s;
    {
      const failing_memory once(0, good, 1);
      try {
        s = lci::post_recv_x(0, in, sizeof in, 5, sync).deadline(1000).runtime(job[0])();
      } catch (const lci::resource_error&) {
        s = lci::errorcode_t::retry_nomem;
      }
    }
    const bool posted = s.is_posted();
    CHECK(lci::post_send_x(0, "message", 8, 5, lci::COMP_NULL).allow_retry(false).runtime(job[0])().is_done());
    if (!posted) {
      s = lci::post_recv_x(0, other, sizeof other, 5, sync).runtime(job[0])();
      CHECK(std::string(in) == "before");
    }
    CHECK(job.end_of(0, s, sync).is_done());
    CHECK(std::string(posted ? in : other) == "message");
    lci::free_comp_x(&sync).runtime(job[0])();
  });
  CHECK(n > 1);
}

TEST_CASE("operations whose deadlines pass while there is no memory end as timed_out") {
  for_each_allocation([](long good) {
    small_job job(1);
    char in[8];
    std::array<lci::comp_t, 5> syncs;
    for (lci::comp_t& sync : syncs) {
      sync = lci::alloc_sync_x().runtime(job[0])();
      REQUIRE(lci::post_recv_x(0, in, sizeof in, 5, sync).deadline(0).runtime(job[0])().is_posted());
    }
    progress_without_memory(job[0], good);
    for (lci::comp_t& sync : syncs) {
      CHECK(job.end_of(0, lci::errorcode_t::posted, sync).error.errorcode == lci::errorcode_t::timed_out);
      lci::free_comp_x(&sync).runtime(job[0])();
    }
  });
}

TEST_CASE("large active messages that wait for the receive window arrive, also if there is no memory to list them") {
  constexpr int n_messages = 40;  // more than the window has room for
  const int n = for_each_allocation([](long good) {
    small_job job(2, [](lci::global_attr_t& attr) { attr.sim_max_delay = 1; });
    closing_network::before(job[1]).attention = lci::network::attention::needed;
    auto cq = lci::alloc_cq_x().runtime(job[1])();
    const auto rcomp = lci::register_rcomp_x(cq).runtime(job[1])();
    auto counter = lci::alloc_counter_x().runtime(job[0])();
    const std::string out(50'000, 'x');
    for (int i = 0; i < n_messages; ++i)
      CHECK(lci::post_am_x(1, out.data(), out.size(), counter, rcomp).allow_retry(false).runtime(job[0])().is_posted());
    progress_without_memory(job[1], good);
    CHECK(job.until([&] { return lci::counter_get_x(counter).runtime(job[0])() == n_messages; }));
    CHECK(job.until([&] { return lci::test_drained_x().runtime(job[1])().is_done(); }));
    int arrived = 0;
    for (lci::status_t s; (s = lci::cq_pop_x(cq).runtime(job[1])()).is_done(); ++arrived) std::free(s.buffer);
    CHECK(arrived >= n_messages - 1);  // one may be refused for lack of memory
    lci::free_comp_x(&counter).runtime(job[0])();
    lci::deregister_rcomp_x(rcomp).runtime(job[1])();
    lci::free_comp_x(&cq).runtime(job[1])();
  });
  CHECK(n > 1);
}

TEST_CASE("all operations with a peer end when it fails while there is no memory, and its failure is reported") {
  const int n = for_each_allocation([](long good) {
    job_with_failed_peer job;
    CHECK(progress_without_memory(job.survivor(), good) == 1);
    job.expect_failures();
  });
  CHECK(n > 0);
}

TEST_CASE(
    "all operations with a peer end when it fails while there is no memory for long, and its failure is reported") {
  for (const long good : {0, 1, 2, 3}) {
    INFO("after " << good << " allocations");
    job_with_failed_peer job;
    const auto device = lci::get_default_device_x().runtime(job.survivor())();
    const int reported = progress_without_memory(job.survivor(), device, good, 20, failing_memory::for_ever);
    CHECK(reported + progress_without_memory(job.survivor(), device, failing_memory::for_ever) == 1);
    job.expect_failures();
  }
}

TEST_CASE("operations that wait for a device end when it is freed while there is no memory") {
  const int n = for_each_allocation([](long good) {
    small_job job(2);
    auto device = lci::alloc_device_x().runtime(job[0])(), theirs = lci::alloc_device_x().runtime(job[1])();
    auto sync = lci::alloc_sync_x().runtime(job[0])();
    const std::string out(50'000, 'x');
    REQUIRE(lci::post_send_x(1, out.data(), out.size(), 5, sync).device(device).runtime(job[0])().is_posted());
    lci::free_device_x(&theirs).runtime(job[1])();
    progress_without_memory(job[0], device, good);
    lci::status_t s;
    CHECK(lci::sync_test_x(sync, &s).runtime(job[0])());
    CHECK(s.error.errorcode == lci::errorcode_t::cancelled);
    lci::free_device_x(&device).runtime(job[0])();
    lci::free_comp_x(&sync).runtime(job[0])();
  });
  CHECK(n > 0);
}

TEST_CASE("a packet returns to its pool if the queue that was to get it has no memory for the status") {
  small_job job(2, [](lci::global_attr_t& attr) { attr.sim_preposted_recvs = true; });
  auto cq = lci::alloc_cq_x().zero_copy_am(true).runtime(job[1])();
  const auto rcomp = lci::register_rcomp_x(cq).runtime(job[1])();
  const lci::core::packet_pool& pool = *lci::get_default_packet_pool_x().runtime(job[1])().p_impl;
  const auto send = [&] {
    CHECK(lci::post_am_x(1, "message", 8, lci::COMP_NULL, rcomp).allow_retry(false).runtime(job[0])().is_done());
  };
  for (int i = 0; i < 300; ++i) job.turn();
  const size_t before = pool.home();
  int thrown = 0;
  {
    const failing_memory none(8000);  // such as the queue's first segment
    send();
    for (int i = 0; i < 300; ++i) thrown += job.turn();
  }
  CHECK(failing_memory::failures() > 0);
  CHECK(thrown == 1);
  CHECK(pool.home() == before);
  send();
  lci::status_t s;
  CHECK(job.until([&] { return (s = lci::cq_pop_x(cq).runtime(job[1])()).is_done(); }));
  CHECK(lci::is_upacket_x(s.buffer).runtime(job[1])());
  lci::put_upacket_x(s.buffer).runtime(job[1])();
  for (int i = 0; i < 300; ++i) job.turn();
  CHECK(pool.home() == before);
  lci::deregister_rcomp_x(rcomp).runtime(job[1])();
  lci::free_comp_x(&cq).runtime(job[1])();
}

TEST_CASE("a registration of a completion object that fails for lack of memory uses no handle") {
  small_job job(1);
  auto counter = lci::alloc_counter_x().runtime(job[0])(), other = lci::alloc_counter_x().runtime(job[0])();
  lci::rcomp_t expected = lci::register_rcomp_x(counter).runtime(job[0])() + 1;
  const int n = for_each_allocation([&](long good) {
    lci::rcomp_t rcomp = 0;
    {
      const failing_memory once(0, good, 1);
      try {
        rcomp = lci::register_rcomp_x(other).runtime(job[0])();
      } catch (const lci::resource_error&) {
      }
    }
    if (rcomp == 0) rcomp = lci::register_rcomp_x(other).runtime(job[0])();
    CHECK(rcomp == expected++);
  });
  CHECK(n > 1);
  lci::free_comp_x(&other).runtime(job[0])();
  lci::free_comp_x(&counter).runtime(job[0])();
}

TEST_CASE("a connection that fails while there is no memory signals its completion object") {
  const auto alone = [](lci::global_attr_t& attr) {
    attr.bootstrap = "none";
    attr.max_peers = 4;
  };
  const int n = for_each_allocation([&](long good) {
    small_job here(1, alone), absent(1, alone);
    auto sync = lci::alloc_sync_x().runtime(here[0])();
    const std::string address = lci::get_address_x().runtime(absent[0])();
    REQUIRE(lci::connect_x(address).timeout(0).local_comp(sync).runtime(here[0])().is_posted());
    progress_without_memory(here[0], good);
    lci::status_t s;
    CHECK(lci::sync_test_x(sync, &s).runtime(here[0])());
    CHECK(s.error.errorcode == lci::errorcode_t::fatal);
    CHECK(lci::test_drained_x().runtime(here[0])().is_done());
    lci::free_comp_x(&sync).runtime(here[0])();
  });
  CHECK(n > 0);
}

TEST_CASE("transfers in messages go on after the network had no memory for one of them") {
  enum class kind { send, put, get };
  for (const kind what : {kind::send, kind::put, kind::get})
    for (const size_t largest_injected : {size_t{64}, size_t{1024}}) {
      bool throws = true;
      for (long n = 0; throws && n < 100; ++n) {
        INFO("transfer " << static_cast<int>(what) << ", post " << n << ", injected " << largest_injected);
        small_job job(2, [&](lci::global_attr_t& attr) {
          attr.sim_rma = false;
          attr.sim_max_inject = largest_injected;
        });
        // The rank whose messages carry the data.
        closing_network& net = closing_network::before(job[what == kind::get ? 1 : 0]);
        std::string out(6000, 'x'), in(out.size(), '-');
        auto sync = lci::alloc_sync_x().runtime(job[0])(), received = lci::alloc_sync_x().runtime(job[1])();
        std::string& theirs = what == kind::get ? out : in;
        auto mr = lci::register_memory_x(theirs.data(), theirs.size()).runtime(job[1])();
        const lci::rmr_t rmr = lci::get_rmr_x(mr).runtime(job[1])();
        if (what == kind::send)
          REQUIRE(lci::post_recv_x(0, in.data(), in.size(), 5, received).runtime(job[1])().is_posted());
        net.until_throw = n;
        lci::status_t s;
        try {
          if (what == kind::send)
            s = lci::post_send_x(1, out.data(), out.size(), 5, sync).runtime(job[0])();
          else if (what == kind::put)
            s = lci::post_put_x(1, out.data(), out.size(), sync, 0, rmr).runtime(job[0])();
          else
            s = lci::post_get_x(1, in.data(), in.size(), sync, 0, rmr).runtime(job[0])();
        } catch (const lci::resource_error&) {
          s = lci::errorcode_t::retry;
        }
        CHECK(s.is_posted());
        if (s.is_posted()) CHECK(job.end_of(0, s, sync).is_done());
        throws = net.until_throw < 0;
        net.until_throw = -1;
        if (what == kind::send) CHECK(job.end_of(1, lci::errorcode_t::posted, received).is_done());
        CHECK(in == out);
        for (const int rank : {0, 1})
          CHECK(job.until([&] { return lci::test_drained_x().runtime(job[rank])().is_done(); }));
        lci::deregister_memory_x(&mr).runtime(job[1])();
        lci::free_comp_x(&received).runtime(job[1])();
        lci::free_comp_x(&sync).runtime(job[0])();
      }
      CHECK_FALSE(throws);
    }
}

TEST_CASE("no flush waits for a put of a layout that threw for lack of memory") {
  const size_t counts[] = {100, 10}, strides[] = {900};
  const lci::layout_t layout = lci::layout_t::strided(counts, strides, 1);
  std::vector<char> memory(10'000), buffer(memory.size());
  const int n = for_each_allocation([&](long good) {
    small_job job(2);
    closing_network& net = closing_network::before(job[0]);
    auto mr = lci::register_memory_x(memory.data(), memory.size()).runtime(job[1])();
    auto sync = lci::alloc_sync_x().runtime(job[0])();
    const lci::rmr_t rmr = lci::get_rmr_x(mr).runtime(job[1])();
    lci::status_t s;
    net.closed = true;  // the simulated network itself needs memory
    {
      const failing_memory once(0, good, 1);
      try {
        s = lci::post_put_x(1, buffer.data(), layout.size(), sync, 0, rmr)
                .layout(&layout)
                .remote_layout(&layout)
                .allow_retry(false)
                .runtime(job[0])();
      } catch (const lci::resource_error&) {
        s = lci::errorcode_t::retry;
      }
    }
    net.closed = false;
    if (s.is_posted()) CHECK(job.end_of(0, s, sync).is_done());
    CHECK(lci::test_drained_x().runtime(job[0])().is_done());
    auto flushed = lci::alloc_sync_x().runtime(job[0])();
    s = lci::post_flush_x(1, flushed).runtime(job[0])();
    CHECK(job.end_of(0, s, flushed).is_done());
    lci::free_comp_x(&flushed).runtime(job[0])();
    lci::free_comp_x(&sync).runtime(job[0])();
    lci::deregister_memory_x(&mr).runtime(job[1])();
  });
  CHECK(n > 1);
}
