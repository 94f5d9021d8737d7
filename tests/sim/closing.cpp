// Messages still arrive while a device or the default runtime is freed. Their handlers can still post,
// through the handle that is being freed or through defaults.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "lci.hpp"
#include "tests/sim/sim_runtime.hpp"

namespace {

/// Receives messages and posts the next ones. Outlives the runtime.
class relay final : public lci::comp_impl_t {
 public:
  void signal(lci::status_t status) override;
};

struct {
  lci::runtime_t runtime;
  lci::device_t device;
  lci::rcomp_t rcomp;
  bool by_default;  // posts name neither runtime nor device
  int arrivals;
} job;

void send_to_self(int hops) {
  auto post = lci::post_am_x(0, &hops, sizeof hops, lci::COMP_NULL_RETRY, job.rcomp);
  if (!job.by_default) post.runtime(job.runtime).device(job.device);
  (void)post.allow_retry(false)();
}

void relay::signal(lci::status_t status) {
  ++job.arrivals;
  const int hops = *static_cast<const int*>(status.buffer);
  std::free(status.buffer);
  if (hops > 0) send_to_self(hops - 1);
}

/// Starts a chain of messages to the same rank, each posted by the handler of the one before, and frees everything
/// at once. Returns how many messages arrived.
int arrivals_while_closing(uint64_t seed, bool by_default) {
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  attr.sim_seed = seed;
  attr.sim_max_delay = 40;
  lci::set_g_default_attr(attr);
  job = {};
  job.by_default = by_default;
  if (by_default) lci::g_runtime_init();
  job.runtime = by_default ? lci::get_g_runtime() : lci::alloc_runtime();
  lci::set_g_default_attr(before);
  if (!by_default) job.device = lci::alloc_device_x().runtime(job.runtime)();
  relay comp;
  job.rcomp = lci::register_rcomp_x(lci::comp_t(&comp)).runtime(job.runtime)();
  send_to_self(5);
  if (by_default) {
    lci::g_runtime_fina();
  } else {
    lci::free_device_x(&job.device).runtime(job.runtime)();
    CHECK(job.device.is_empty());
    lci::free_runtime_x (&job.runtime)();
  }
  return job.arrivals;
}

}  // namespace

TEST_CASE("a handler posts while its device is freed") {
  int arrivals = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) arrivals += arrivals_while_closing(seed, false);
  CHECK(arrivals > 5);
}

TEST_CASE("a handler posts with default arguments while the default runtime is freed") {
  int arrivals = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) arrivals += arrivals_while_closing(seed, true);
  CHECK(arrivals > 5);
  CHECK(lci::get_g_runtime().is_empty());
}

TEST_CASE("a put of a layout that its target never answers ends as cancelled when its device is freed") {
  const lci::global_attr_t before = lci::get_g_default_attr();
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_seed = seed;
    attr.sim_ranks = 2;
    attr.sim_rma = false;  // so the target has to answer
    lci::set_g_default_attr(attr);
    auto rt = lci::alloc_runtime(), target = lci::alloc_runtime();
    lci::set_g_default_attr(before);
    // It does not. (A device takes the defaults of the time of its allocation.)
    auto device = lci::alloc_device_x().close_timeout(0.1).runtime(rt)();
    auto device_of_target = lci::alloc_device_x().runtime(target)();
    std::vector<char> memory(10'000), buffer(memory.size());
    auto mr = lci::register_memory_x(memory.data(), memory.size()).device(device_of_target).runtime(target)();
    const size_t counts[] = {100, 10}, strides[] = {900};
    const lci::layout_t layout = lci::layout_t::strided(counts, strides, 1);
    auto sync = lci::alloc_sync_x().runtime(rt)();
    const lci::status_t posted =
        lci::post_put_x(1, buffer.data(), layout.size(), sync, 0, lci::get_rmr_x(mr).runtime(target)())
            .layout(&layout)
            .remote_layout(&layout)
            .allow_retry(false)
            .device(device)
            .runtime(rt)();
    CHECK(posted.is_posted());
    for (int i = 0; i < 100; ++i) lci::progress_x().device(device).runtime(rt)();
    lci::free_device_x(&device).runtime(rt)();
    lci::status_t end;
    REQUIRE(lci::sync_test_x(sync, &end).runtime(rt)());
    CHECK(end.error == lci::errorcode_t::cancelled);
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_runtime(&rt);  // a sanitizer finds leaks
    lci::deregister_memory_x(&mr).runtime(target)();
    lci::free_device_x(&device_of_target).runtime(target)();
    lci::free_runtime(&target);
  }
}

TEST_CASE("a receive whose sender has freed its device ends as cancelled, also if it reads the sender's memory") {
  const lci::global_attr_t before = lci::get_g_default_attr();
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_seed = seed;
    attr.sim_ranks = 2;
    attr.rdv_protocol = lci::attr_rdv_protocol_t::read;
    lci::set_g_default_attr(attr);
    auto sender = lci::alloc_runtime(), receiver = lci::alloc_runtime();
    lci::set_g_default_attr(before);
    // The time that it waits for an answer that does not arrive.
    auto device_of_sender = lci::alloc_device_x().close_timeout(0.1).runtime(sender)();
    auto device = lci::alloc_device_x().runtime(receiver)();
    std::vector<char> out(300'000), in(out.size());
    auto sent = lci::alloc_sync_x().runtime(sender)();
    auto received = lci::alloc_sync_x().runtime(receiver)();
    CHECK(lci::post_send_x(1, out.data(), out.size(), 7, sent)
              .allow_retry(false)
              .device(device_of_sender)
              .runtime(sender)()
              .is_posted());
    for (int i = 0; i < 100; ++i) lci::progress_x().device(device_of_sender).runtime(sender)();
    lci::free_device_x(&device_of_sender).runtime(sender)();
    lci::status_t end;
    REQUIRE(lci::sync_test_x(sent, &end).runtime(sender)());
    CHECK(end.error == lci::errorcode_t::cancelled);
    CHECK(lci::post_recv_x(0, in.data(), in.size(), 7, received)
              .allow_retry(false)
              .device(device)
              .runtime(receiver)()
              .is_posted());
    bool ended = false;
    for (int i = 0; i < 100'000 && !ended; ++i) {
      lci::progress_x().device(device).runtime(receiver)();
      ended = lci::sync_test_x(received, &end).runtime(receiver)();
    }
    REQUIRE(ended);
    CHECK(end.error == lci::errorcode_t::cancelled);
    lci::free_comp_x(&sent).runtime(sender)();
    lci::free_comp_x(&received).runtime(receiver)();
    lci::free_device_x(&device).runtime(receiver)();
    lci::free_runtime(&sender);
    lci::free_runtime(&receiver);
  }
}

TEST_CASE("puts that the network has not completed end with their device, whatever their handlers throw") {
  struct thrown_by_handler {};
  static int handled;
  handled = 0;
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  attr.sim_max_delay = 1'000'000'000'000'000;
  attr.sim_retry_percent = 0;
  lci::set_g_default_attr(attr);
  auto rt = lci::alloc_runtime();
  lci::set_g_default_attr(before);
  auto device = lci::alloc_device_x().close_timeout(0).runtime(rt)();
  std::vector<char> memory(3000), buffer(memory.size());
  auto mr = lci::register_memory_x(memory.data(), memory.size()).device(device).runtime(rt)();
  const lci::rmr_t rmr = lci::get_rmr_x(mr).runtime(rt)();
  const auto throws = [](lci::status_t s) {
    handled += s.error == lci::errorcode_t::cancelled;
    throw thrown_by_handler();
  };
  auto handler = lci::alloc_handler_x(throws).runtime(rt)();
  auto queue = lci::alloc_cq_x().runtime(rt)();
  int to_handler = 0, to_queue = 0;
  // Some complete at once.
  for (int i = 0; i < 20; ++i) {
    const auto put = [&](lci::comp_t comp) {
      return lci::post_put_x(0, buffer.data(), buffer.size(), comp, 0, rmr).device(device).runtime(rt)().is_posted();
    };
    to_handler += put(handler);
    to_queue += put(queue);
    // The device owns the completion objects of raw operations.
    (void)lci::net_post_put_x(0, buffer.data(), buffer.size(), lci::mr_t(), 0, rmr).device(device).runtime(rt)();
    (void)lci::net_post_puts_x(0, buffer.data(), buffer.size(), 0, rmr).device(device).runtime(rt)();
  }
  CHECK(to_handler > 0);
  CHECK(to_queue > 0);
  CHECK_THROWS_AS(lci::free_device_x(&device).runtime(rt)(), thrown_by_handler);
  CHECK(device.is_empty());
  CHECK(handled == to_handler);
  for (lci::status_t s; (s = lci::cq_pop_x(queue).runtime(rt)()).error != lci::errorcode_t::retry; --to_queue)
    CHECK(s.error == lci::errorcode_t::cancelled);
  CHECK(to_queue == 0);
  lci::deregister_memory_x(&mr).runtime(rt)();
  lci::free_comp_x(&queue).runtime(rt)();
  lci::free_comp_x(&handler).runtime(rt)();
  lci::free_runtime(&rt);
}

TEST_CASE("a handler that throws as its operation ends with the device keeps neither device nor runtime") {
  static int handled;
  const lci::global_attr_t before = lci::get_g_default_attr();
  for (const bool is_default : {false, true}) {
    handled = 0;
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = 2;
    attr.sim_rma = false;  // so the target has to answer, and does not
    lci::set_g_default_attr(attr);
    auto rt = lci::alloc_runtime(), target = lci::alloc_runtime();
    lci::set_g_default_attr(before);
    auto device_of_target =
        is_default ? lci::get_default_device_x().runtime(target)() : lci::alloc_device_x().runtime(target)();
    auto device =
        is_default ? lci::get_default_device_x().runtime(rt)() : lci::alloc_device_x().close_timeout(0.1).runtime(rt)();
    std::vector<char> memory(10'000), buffer(memory.size());
    auto mr = lci::register_memory_x(memory.data(), memory.size()).device(device_of_target).runtime(target)();
    const lci::rmr_t rmr = lci::get_rmr_x(mr).runtime(target)();
    const auto throws = [](lci::status_t s) {
      CHECK(s.error == lci::errorcode_t::cancelled);
      throw std::runtime_error("handler " + std::to_string(++handled));
    };
    auto handler = lci::alloc_handler_x(throws).runtime(rt)();
    auto sync = lci::alloc_sync_x().runtime(rt)();
    const auto put = [&](lci::comp_t comp) {
      return lci::post_put_x(1, buffer.data(), buffer.size(), comp, 0, rmr)
          .allow_retry(false)
          .device(device)
          .runtime(rt)();
    };
    for (const lci::comp_t comp : {handler, sync, handler}) CHECK(put(comp).is_posted());
    for (int i = 0; i < 100; ++i) lci::progress_x().device(device).runtime(rt)();
    std::string thrown;
    try {
      if (is_default)
        lci::free_runtime(&rt);
      else
        lci::free_device_x(&device).runtime(rt)();
    } catch (const std::runtime_error& e) {
      thrown = e.what();
    }
    CHECK(thrown == "handler 1");
    CHECK(handled == 2);
    if (is_default) {
      CHECK(rt.is_empty());
    } else {
      CHECK(device.is_empty());
      lci::status_t end;
      REQUIRE(lci::sync_test_x(sync, &end).runtime(rt)());
      CHECK(end.error == lci::errorcode_t::cancelled);
      lci::free_runtime(&rt);
    }
    // Completion objects of the user stay after their runtime.
    lci::free_comp_x(&sync).runtime(target)();
    lci::free_comp_x(&handler).runtime(target)();
    lci::deregister_memory_x(&mr).runtime(target)();
    if (!is_default) lci::free_device_x(&device_of_target).runtime(target)();
    lci::free_runtime(&target);
  }
}

namespace {

/// Counts the messages that it gets in place.
class counting final : public lci::comp_impl_t {
 public:
  explicit counting(bool in_place) { attr.am_in_place = in_place; }
  void signal(lci::status_t status) override {
    ++n;
    if (!attr.am_in_place) std::free(status.buffer);
  }
  int n = 0;
};

}  // namespace

TEST_CASE("a large active message whose target is deregistered during the transfer is dropped") {
  const bool in_place = GENERATE(false, true);
  int dropped = 0;
  for (int rounds = 0; rounds < 40; ++rounds) {
    auto rt = sim_test::over_sim([] { return lci::alloc_runtime_x().rdv_chunk_size(4096)(); });
    counting target(in_place);
    const auto rcomp = lci::register_rcomp_x(lci::comp_t(&target)).runtime(rt)();
    const std::vector<char> out(100'000, 'x');
    auto sync = lci::alloc_sync_x().runtime(rt)();
    lci::status_t s = lci::post_am_x(0, out.data(), out.size(), sync, rcomp)
                          .comp_semantic(lci::comp_semantic_t::remote)
                          .allow_retry(false)
                          .runtime(rt)();
    REQUIRE(s.is_posted());
    for (int i = 0; i < rounds; ++i) lci::progress_x().runtime(rt)();
    lci::deregister_rcomp_x(rcomp).runtime(rt)();
    const int before = target.n;
    lci::sync_wait_x(sync, &s).runtime(rt)();
    CHECK(target.n == before);
    CHECK(s.is_done() == (before == 1));
    dropped += before == 0;
    lci::wait_drained_x().runtime(rt)();
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_runtime(&rt);
  }
  CHECK(dropped > 0);
}
