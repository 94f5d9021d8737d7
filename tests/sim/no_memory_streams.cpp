// Posts whose memory can't be had, in the middle of what they do: they never were, or their operations end.
#include <string>

#include "tests/sim/failing_memory.hpp"

using namespace sim_test;

namespace {

size_t operations_alive(lci::runtime_t rt) { return rt.p_impl->operations.alive(); }
bool drained(lci::runtime_t rt) { return lci::test_drained_x().runtime(rt)().is_done(); }

constexpr int smallest_window = 4;

/// Some messages of a stream while the network takes none; the last but one finds no memory when it has asked `good`
/// times for some. False: it does not ask so often.
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

TEST_CASE("a post to a stream that finds no memory takes no number, and leaves no operation") {
  for (const bool acked : {false, true})
    for (const bool window_is_full : {false, true})
      for (const size_t size : {size_t{9}, size_t{700}, size_t{50'000}}) {
        long good = 0;
        for (bool more = true; more && good < 50; ++good) {
          INFO("size " << size << ", acked " << acked << ", the window is full " << window_is_full << ", after " << good);
          more = post_some(acked, window_is_full, size, good);
        }
        CHECK(good > 1);
      }
}
