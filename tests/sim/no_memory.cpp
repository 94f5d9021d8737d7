// Operations that fail for lack of memory: ranks that wait for them get the error.
#include "tests/sim/failing_memory.hpp"

#include <string>

using namespace sim_test;

namespace {

// Allocations of at least this size are segments of a completion queue; no other allocation of these tests is as large.
constexpr size_t segment_of_a_queue = 8000;

constexpr size_t sizes[] = {9, 700, 50'000};  // by inject, by packet, by rendezvous

/// A target whose completion queue has no segment for a status yet, and its sender.
struct two_ranks {
  explicit two_ranks(int n = 2) : job(n) {
    lci::set_allocator_x(&allocator).runtime(job[1])();
    rcomp = lci::register_rcomp_x(queue).runtime(job[1])();
    // Both ranks allocate now what any message needs.
    auto counter = lci::alloc_counter_x().runtime(job[1])();
    const auto warm = lci::register_rcomp_x(counter).runtime(job[1])();
    for (const size_t size : sizes) REQUIRE(send_to(warm, size, {}).is_done());
    lci::deregister_rcomp_x(warm).runtime(job[1])();
    lci::free_comp_x(&counter).runtime(job[1])();
    CHECK(allocator.alive.empty());
  }
  ~two_ranks() {
    lci::free_comp_x(&sync).runtime(job[0])();
    lci::deregister_rcomp_x(rcomp).runtime(job[1])();
    lci::free_comp_x(&queue).runtime(job[1])();
    lci::set_allocator_x(nullptr).runtime(job[1])();
  }
  lci::status_t send(size_t size, lci::stream_t stream = {}) { return send_to(rcomp, size, stream); }
  lci::status_t send_to(lci::rcomp_t target, size_t size, lci::stream_t stream) {
    static const std::string out(sizes[2], 'x');
    return job.end_of(0,
                      lci::post_am_x(1, out.data(), size, sync, target)
                          .comp_semantic(lci::comp_semantic_t::remote)
                          .stream(stream)
                          .allow_retry(false)
                          .runtime(job[0])(),
                      sync);
  }
  bool pop() {
    const lci::status_t s = lci::cq_pop_x(queue).runtime(job[1])();
    if (s.is_done()) allocator.deallocate(s.buffer);
    return s.is_done();
  }

  small_job job;
  counting_allocator allocator;
  lci::comp_t sync = lci::alloc_sync_x().runtime(job[0])();
  lci::comp_t queue = lci::alloc_cq_x().runtime(job[1])();
  lci::rcomp_t rcomp;
};

}  // namespace

TEST_CASE("a send fails with no_memory if its target's queue has no memory for the status") {
  for (const bool ordered : {false, true})
    for (const size_t size : sizes) {
      INFO("size " << size << ", ordered " << ordered);
      two_ranks pair;
      auto stream = lci::alloc_stream_x().runtime(pair.job[0])();
      const auto send = [&] { return pair.send(size, ordered ? stream : lci::stream_t()); };
      lci::status_t s;
      {
        const failing_memory none(segment_of_a_queue);
        s = send();
      }
      CHECK(failing_memory::failures() > 0);
      CHECK(s.error.errorcode == lci::errorcode_t::no_memory);
      CHECK_FALSE(pair.pop());
      CHECK(pair.allocator.alive.empty());
      CHECK(send().is_done());
      CHECK(pair.pop());
      CHECK(pair.allocator.alive.empty());
      lci::free_stream_x(&stream).runtime(pair.job[0])();
    }
}

TEST_CASE("a send does not end as delivered if its receive can't be signalled") {
  two_ranks pair;
  char in[8];
  const auto receive = [&] {
    REQUIRE(lci::post_recv_x(0, in, sizeof in, 5, pair.queue).runtime(pair.job[1])().is_posted());
  };
  const auto send = [&] {
    return pair.job.end_of(0,
                           lci::post_send_x(1, "message", 8, 5, pair.sync)
                               .comp_semantic(lci::comp_semantic_t::remote)
                               .runtime(pair.job[0])(),
                           pair.sync);
  };
  receive();
  lci::status_t s;
  {
    const failing_memory none(segment_of_a_queue);
    s = send();
  }
  CHECK(s.error.errorcode == lci::errorcode_t::no_memory);
  receive();
  CHECK(send().is_done());
  CHECK(lci::cq_pop_x(pair.queue).runtime(pair.job[1])().is_done());
}

TEST_CASE("a send that came before its receive does not end as delivered if the receive can't be signalled") {
  two_ranks pair;
  char in[8];
  const auto receive = [&] {
    return lci::post_recv_x(0, in, sizeof in, 5, pair.queue).allow_done(false).runtime(pair.job[1])();
  };
  const auto send = [&] {
    const lci::status_t s = lci::post_send_x(1, "message", 8, 5, pair.sync)
                                .comp_semantic(lci::comp_semantic_t::remote)
                                .runtime(pair.job[0])();
    for (int i = 0; i < 100; ++i) pair.job.turn();
    return s;
  };
  lci::status_t s = send();
  {
    const failing_memory none(segment_of_a_queue);
    CHECK_THROWS_AS(receive(), lci::resource_error);
  }
  CHECK(pair.job.end_of(0, s, pair.sync).error.errorcode == lci::errorcode_t::no_memory);
  s = send();
  CHECK(receive().is_posted());
  CHECK(pair.job.end_of(0, s, pair.sync).is_done());
  CHECK(lci::cq_pop_x(pair.queue).runtime(pair.job[1])().is_done());
}

TEST_CASE("a named send that fails for lack of memory leaves no registration of its buffer") {
  small_job job(2);
  closing_network& net = closing_network::before(job[0]);
  std::vector<char> out(50'000), in(out.size());
  auto sync = lci::alloc_sync_x().runtime(job[0])();
  auto received = lci::alloc_sync_x().runtime(job[1])();
  int thrown = 0;
  for (long good = 0; good < 50; ++good) {
    INFO("after " << good);
    lci::operation_t name;
    lci::status_t s;
    bool posted = true;
    net.closed = true;  // the message waits in the backlog: the simulated network itself needs memory to send it
    {
      const failing_memory none(0, good, 1);
      try {
        s = lci::post_send_x(1, out.data(), out.size(), 5, sync).operation(&name).allow_retry(false).runtime(job[0])();
      } catch (const lci::resource_error&) {
        posted = false;
      }
    }
    net.closed = false;
    if (!posted) {
      ++thrown;
      CHECK(net.registrations == 0);
      continue;
    }
    const lci::status_t r = lci::post_recv_x(0, in.data(), in.size(), 5, received).runtime(job[1])();
    CHECK(job.end_of(1, r, received).is_done());
    CHECK(job.end_of(0, s, sync).is_done());
    if (failing_memory::failures() == 0) break;
  }
  CHECK(thrown > 0);
  CHECK(net.registrations == 0);
  lci::free_comp_x(&received).runtime(job[1])();
  lci::free_comp_x(&sync).runtime(job[0])();
}

TEST_CASE("a send fails with no_memory if a synchronizer drops its signal") {
  two_ranks pair;
  auto untested = lci::alloc_sync_x().runtime(pair.job[1])();
  const auto rcomp = lci::register_rcomp_x(untested).runtime(pair.job[1])();
  const auto send = [&](lci::comp_semantic_t semantic) {
    return pair.job.end_of(0,
                           lci::post_am_x(1, "message", 8, pair.sync, rcomp)
                               .comp_semantic(semantic)
                               .allow_retry(false)
                               .runtime(pair.job[0])(),
                           pair.sync);
  };
  // The signals that it keeps, and the one that makes it ready.
  constexpr size_t kept = 65536 + 1;
  for (size_t i = 0; i < kept; ++i) REQUIRE(send(lci::comp_semantic_t::memory).is_done());
  CHECK(pair.job.until([&] { return pair.allocator.alive.size() == kept; }, 5 * kept));
  CHECK(send(lci::comp_semantic_t::remote).error.errorcode == lci::errorcode_t::no_memory);
  CHECK(pair.allocator.alive.size() == kept);
  lci::deregister_rcomp_x(rcomp).runtime(pair.job[1])();
  lci::free_comp_x(&untested).runtime(pair.job[1])();
  for (void* p : std::set<void*>(pair.allocator.alive)) pair.allocator.deallocate(p);
}

TEST_CASE("a small message for whose status a queue has no memory is reported with its size and sender, and counted") {
  small_job job(2, [](lci::global_attr_t& attr) {
    attr.counters = true;
    attr.sim_preposted_recvs = false;  // messages are passed on from where they lie
  });
  auto queue = lci::alloc_cq_x().runtime(job[1])();
  const auto rcomp = lci::register_rcomp_x(queue).runtime(job[1])();
  REQUIRE(lci::post_am_x(1, "message", 8, lci::COMP_NULL, rcomp).runtime(job[0])().is_done());
  std::string reported;
  {
    const failing_memory none(segment_of_a_queue);
    for (int i = 0; i < 1000 && reported.empty(); ++i) {
      try {
        (void)lci::progress_x().runtime(job[1])();
      } catch (const lci::resource_error& e) {
        reported = e.what();
      }
    }
  }
  CHECK(failing_memory::failures() > 0);
  CHECK(reported.find("8 bytes from rank 0") != std::string::npos);
  CHECK(lci::get_counters_x().rank(0).runtime(job[1])().no_memory.messages == 1);
  CHECK_FALSE(lci::cq_pop_x(queue).runtime(job[1])().is_done());
  lci::deregister_rcomp_x(rcomp).runtime(job[1])();
  lci::free_comp_x(&queue).runtime(job[1])();
}

TEST_CASE("a synchronizer without memory for an early signal keeps the earlier ones") {
  small_job job(1);
  auto sync = lci::alloc_sync_x().runtime(job[0])();
  int thrown = 0;
  for (int i = 0; i < 200; ++i) {
    const lci::status_t s(lci::errorcode_t::done);
    sync.p_impl->signal(s);
    bool kept = true;
    {
      const failing_memory none;
      try {
        sync.p_impl->signal(s);
      } catch (const std::bad_alloc&) {
        kept = false;
      }
    }
    const auto test = [&] { return lci::sync_test_x(sync, nullptr).runtime(job[0])(); };
    CHECK(test());
    if (!kept) {
      ++thrown;
      REQUIRE_FALSE(test());
      sync.p_impl->signal(s);
      sync.p_impl->signal(s);  // so that the next round begins at another position of its list
      CHECK(test());
    }
    CHECK(test());
    REQUIRE_FALSE(test());
  }
  CHECK(thrown > 0);
  lci::free_comp_x(&sync).runtime(job[0])();
}
