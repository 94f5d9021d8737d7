// Posts that run out of memory at any point: they have no effect, or their operations end.
#include <string>

#include "lib/core/runtime/runtime.hpp"
#include "lib/core/stream/stream_order.hpp"
#include "tests/sim/failing_memory.hpp"

using namespace sim_test;

namespace {

size_t operations_alive(lci::runtime_t rt) { return rt.p_impl->operations.alive(); }
bool drained(lci::runtime_t rt) { return lci::test_drained_x().runtime(rt)().is_done(); }

constexpr int smallest_window = 4;

/// Posts some messages of a stream while the network accepts none. In the post of the last but one, the allocation
/// after the first `good` ones fails. Returns false if that post makes no more than `good` allocations.
bool post_some(bool acked, bool window_is_full, size_t size, long good) {
  small_job job(2);
  const size_t alive_before = operations_alive(job[0]);
  closing_network& net = closing_network::before(job[0]);
  auto queue = lci::alloc_cq_x().runtime(job[1])();
  const auto rcomp = lci::register_rcomp_x(queue).runtime(job[1])();
  auto ended = lci::alloc_counter_x().runtime(job[0])();
  auto stream = lci::alloc_stream_x().window(window_is_full ? smallest_window : 100).runtime(job[0])();
  static const std::string out(50'000, 'x');
  int64_t posted = 0;
  std::vector<lci::tag_t> expected;
  expected.reserve(smallest_window + 2);
  const auto post = [&](lci::tag_t tag) {
    const lci::status_t s = lci::post_am_x(1, out.data(), size, ended, rcomp)
                                .tag(tag)
                                .stream(stream)
                                .comp_semantic(acked ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory)
                                .allow_retry(false)
                                .runtime(job[0])();
    posted += s.is_posted();
    expected.push_back(tag);
  };
  net.closed = true;
  for (lci::tag_t tag = 0; tag < smallest_window; ++tag) post(tag);
  long failures;
  {
    const failing_memory none(0, good, 1);
    try {
      post(smallest_window);
    } catch (const lci::resource_error&) {
    }
    failures = failing_memory::failures();
  }
  post(smallest_window + 1);
  net.closed = false;
  std::vector<lci::tag_t> got;
  CHECK(job.until([&] {
    for (lci::status_t s; (s = lci::cq_pop_x(queue).runtime(job[1])()).is_done();) {
      got.push_back(s.tag);
      std::free(s.buffer);
    }
    return got.size() >= expected.size() && drained(job[0]) && drained(job[1]);
  }));
  CHECK(got == expected);
  CHECK(lci::counter_get_x(ended).runtime(job[0])() == posted);
  CHECK(operations_alive(job[0]) == alive_before);
  lci::free_stream_x(&stream).runtime(job[0])();
  lci::free_comp_x(&ended).runtime(job[0])();
  lci::deregister_rcomp_x(rcomp).runtime(job[1])();
  lci::free_comp_x(&queue).runtime(job[1])();
  return failures > 0;
}

}  // namespace

TEST_CASE("a post to a stream that fails for lack of memory uses no sequence number and leaves no operation") {
  for (const bool acked : {false, true})
    for (const bool window_is_full : {false, true})
      for (const size_t size : {size_t{9}, size_t{700}, size_t{50'000}}) {
        long good = 0;
        for (bool more = true; more && good < 50; ++good) {
          INFO("size " << size << ", acked " << acked << ", the window is full " << window_is_full << ", after "
                       << good);
          more = post_some(acked, window_is_full, size, good);
        }
        CHECK(good > 1);
      }
}

TEST_CASE("an operation whose message can be neither sent nor queued is kept for later, or ends as no_memory") {
  std::vector<char> memory(20'000), here(memory.size());
  const auto post_any = [&](int kind, small_job& job, lci::comp_t sync, lci::rcomp_t rcomp, lci::stream_t stream,
                            const lci::rmr_t& rmr) -> lci::status_t {
    const auto rt = job[0];
    const auto remote = lci::comp_semantic_t::remote;
    switch (kind) {
      case 0:
        return lci::post_am_x(1, here.data(), 9, sync, rcomp).comp_semantic(remote).allow_retry(false).runtime(rt)();
      case 1:
        return lci::post_am_x(1, here.data(), here.size(), sync, rcomp).allow_retry(false).runtime(rt)();
      case 2:
        return lci::post_am_x(1, here.data(), 9, sync, rcomp)
            .stream(stream)
            .comp_semantic(remote)
            .allow_retry(false)
            .runtime(rt)();
      case 3:
        return lci::post_get_x(1, here.data(), here.size(), sync, 0, rmr).allow_retry(false).runtime(rt)();
      default:
        return lci::post_atomic_x(1, lci::atomic_op_t::add, here.data(), here.data() + 8, sync, 0, rmr)
            .allow_retry(false)
            .runtime(rt)();
    }
  };
  for (int kind = 0; kind < 5; ++kind) {
    int lost = 0;
    bool more = true;
    for (long good = 0; more && good < 50; ++good) {
      INFO("kind " << kind << ", after " << good);
      small_job job(2, [](lci::global_attr_t& attr) { attr.sim_rma = false; });
      closing_network& net = closing_network::before(job[0]);
      auto counter = lci::alloc_counter_x().runtime(job[1])();
      const auto rcomp = lci::register_rcomp_x(counter).runtime(job[1])();
      auto mr = lci::register_memory_x(memory.data(), memory.size()).runtime(job[1])();
      const auto rmr = lci::get_rmr_x(mr).runtime(job[1])();
      auto sync = lci::alloc_sync_x().runtime(job[0])();
      auto stream = lci::alloc_stream_x().runtime(job[0])();
      net.closed = true;
      bool thrown = false;
      lci::status_t s;
      {
        const failing_memory none(0, good);
        try {
          s = post_any(kind, job, sync, rcomp, stream, rmr);
        } catch (const lci::resource_error&) {
          thrown = true;
        }
        more = failing_memory::failures() > 0;
      }
      net.closed = false;
      if (!thrown) {
        s = job.end_of(0, s, sync);
        if (!s.is_done()) CHECK(s.error.errorcode == lci::errorcode_t::no_memory);
        lost += !s.is_done();
      }
      CHECK(job.until([&] { return drained(job[0]) && drained(job[1]); }));
      lci::free_stream_x(&stream).runtime(job[0])();
      lci::free_comp_x(&sync).runtime(job[0])();
      lci::deregister_memory_x(&mr).runtime(job[1])();
      lci::deregister_rcomp_x(rcomp).runtime(job[1])();
      lci::free_comp_x(&counter).runtime(job[1])();
    }
    const bool is_request = kind == 1 || kind >= 3;  // small enough for the reserve of the backlog
    CHECK((lost > 0) == !is_request);
  }
}

TEST_CASE("a stream continues after early messages that could not be stored for lack of memory") {
  small_job job(2);
  lci::core::device& d = *lci::get_default_device_x().runtime(job[1])().p_impl;
  auto queue = lci::alloc_cq_x().runtime(job[1])();
  const auto rcomp = lci::register_rcomp_x(queue).runtime(job[1])();
  lci::core::incoming_stream& in = job[1].p_impl->streams.incoming(0, 0);
  char payload[8] = {};
  const auto arrive = [&](uint32_t number) {
    lci::core::ordered_message m;
    m.comp = rcomp;
    m.tag = number;
    m.data = payload;
    m.size = sizeof payload;
    m.device_uid = d.attr.uid;
    return in.arrive(d, number, m);
  };
  const auto is_lost = [&](uint32_t number) {
    const failing_memory none;
    try {
      (void)arrive(number);
      return false;
    } catch (const lci::resource_error&) {
      return true;
    }
  };
  const auto pop = [&] {
    const lci::status_t s = lci::cq_pop_x(queue).runtime(job[1])();
    if (!s.is_done()) return -1;
    std::free(s.buffer);
    return static_cast<int>(s.tag);
  };
  CHECK(arrive(0));
  CHECK(pop() == 0);
  CHECK(is_lost(2));
  CHECK(is_lost(3));
  CHECK(is_lost(5));
  CHECK(arrive(4));
  CHECK_FALSE(arrive(3));  // its number has been counted
  CHECK(pop() == -1);
  CHECK(arrive(1));
  CHECK(arrive(6));
  for (const int expected : {1, 4, 6, -1}) CHECK(pop() == expected);
  lci::deregister_rcomp_x(rcomp).runtime(job[1])();
  lci::free_comp_x(&queue).runtime(job[1])();
}

TEST_CASE("a peer that was asked to pause resumes, also if there was no memory for that message") {
  small_job job(2, [](lci::global_attr_t& attr) { attr.unexpected_bytes = 2000; });
  char message[100] = {}, in[100];
  closing_network& net = closing_network::before(job[1]);
  const auto send = [&] {
    return lci::post_send_x(1, message, sizeof message, 5, lci::COMP_NULL_RETRY).runtime(job[0])().is_done();
  };
  int sent = 0;
  for (int refused = 0; refused < 1000 && sent < 5000;) {
    if (send()) {
      refused = 0;
      ++sent;
    } else {
      ++refused;
      job.turn();
    }
  }
  REQUIRE(sent < 5000);
  auto sync = lci::alloc_sync_x().runtime(job[1])();
  const auto receive = [&] { return lci::post_recv_x(0, in, sizeof in, 5, sync).runtime(job[1])().is_done(); };
  int received = receive();  // receives need no more allocations from now on
  net.closed = true;
  {
    const failing_memory none;
    for (int i = 1; i < sent; ++i) received += receive();
  }
  CHECK(received == sent);
  CHECK(failing_memory::failures() > 0);
  net.closed = false;
  CHECK(job.until(send));
  lci::free_comp_x(&sync).runtime(job[1])();
}
