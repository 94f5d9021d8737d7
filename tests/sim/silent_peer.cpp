// A peer for which the network takes nothing: what is posted to others goes on, and its messages don't get lost in
// silence.
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "lci.hpp"
#include "lib/core/device/device.hpp"
#include "tests/sim/sim_runtime.hpp"
#include "tests/sim/waiting_network.hpp"

namespace {

/// Two ranks, of which the first one can't reach the other.
class apart {
 public:
  apart() {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = 2;
    lci::set_g_default_attr(attr);
    for (lci::runtime_t& rt : ranks_) rt = lci::alloc_runtime();
    lci::set_g_default_attr(before);
    for (size_t i = 0; i < ranks_.size(); ++i)
      devices_[i] = lci::alloc_device_x().close_timeout(0.01).runtime(ranks_[i])();
    devices_[0].p_impl->lifetime.longest_quiet_time = 0.05;
    network = sim_test::waiting_network::before(devices_[0]);
    network->refused = 1;
  }
  ~apart() {
    for (size_t i = 0; i < ranks_.size(); ++i)
      if (!devices_[i].is_empty()) lci::free_device_x(&devices_[i]).runtime(ranks_[i])();
    for (lci::runtime_t& rt : ranks_) lci::free_runtime(&rt);
  }
  apart(const apart&) = delete;
  apart& operator=(const apart&) = delete;

  lci::runtime_t rt() const { return ranks_[0]; }
  lci::device_t device() const { return devices_[0]; }
  void progress() {
    for (size_t i = 0; i < ranks_.size(); ++i) lci::progress_x().device(devices_[i]).runtime(ranks_[i])();
  }
  /// Frees the first rank's device, and returns the number of seconds that takes.
  double end() {
    const auto begin = std::chrono::steady_clock::now();
    lci::free_device_x(&devices_[0]).runtime(ranks_[0])();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  sim_test::waiting_network* network;

 private:
  std::array<lci::runtime_t, 2> ranks_;
  std::array<lci::device_t, 2> devices_;
};

/// What `f()` writes to standard error.
std::string errors_of(const std::function<void()>& f) {
  FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  f();
  dup2(before, STDERR_FILENO);
  close(before);
  std::string text(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), ' ');
  REQUIRE(pread(fileno(file), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  std::fclose(file);
  return text;
}

constexpr lci::rcomp_t unknown = 1000;

}  // namespace

TEST_CASE("posts to a peer are not refused because requests to another one wait in the backlog") {
  apart job;
  std::vector<char> out(100'000, 'x'), in(out.size());
  auto mr = lci::register_memory_x(in.data(), in.size()).device(job.device()).runtime(job.rt())();
  const auto rmr = lci::get_rmr_x(mr).runtime(job.rt())();
  auto sync = lci::alloc_sync_x().runtime(job.rt())();
  auto arrived = lci::alloc_counter_x().runtime(job.rt())();
  const auto rcomp = lci::register_rcomp_x(arrived).runtime(job.rt())();
  REQUIRE(lci::post_am_x(1, out.data(), 100, lci::COMP_NULL_RETRY, unknown)
              .allow_retry(false)
              .device(job.device())
              .runtime(job.rt())()
              .is_done());
  REQUIRE(lci::post_am_x(1, out.data(), 100, lci::COMP_NULL_RETRY, unknown)
              .device(job.device())
              .runtime(job.rt())()
              .is_retry());
  const auto goes_on = [&](auto post) {
    lci::status_t s;
    for (int i = 0; i < 1000; ++i) {  // the simulated network refuses some at random
      s = post.device(job.device()).runtime(job.rt())();
      if (!s.is_retry()) break;
      CHECK(s.error != lci::errorcode_t::retry_backlog);
      job.progress();
    }
    REQUIRE(!s.is_retry());
    if (s.is_posted()) lci::sync_wait_x(sync, &s).device(job.device()).runtime(job.rt())();
    CHECK(s.is_done());
  };
  for (const size_t size : {size_t{8}, size_t{3000}, out.size()}) {
    goes_on(lci::post_am_x(0, out.data(), size, sync, rcomp));
    auto received = lci::alloc_sync_x().runtime(job.rt())();
    REQUIRE(lci::post_recv_x(0, in.data(), size, 2, received).device(job.device()).runtime(job.rt())().is_posted());
    goes_on(lci::post_send_x(0, out.data(), size, 2, sync));
    lci::sync_wait_x(received, nullptr).device(job.device()).runtime(job.rt())();
    lci::free_comp_x(&received).runtime(job.rt())();
    goes_on(lci::post_am_x(0, out.data(), size, sync, rcomp).comp_semantic(lci::comp_semantic_t::remote));
    goes_on(lci::post_put_x(0, out.data(), size, sync, 0, rmr));
    goes_on(lci::post_put_x(0, out.data(), size, sync, 0, rmr).ordered(true));
    goes_on(lci::post_get_x(0, out.data(), size, sync, 0, rmr));
  }
  job.network->refused = -1;
  lci::wait_drained_x().device(job.device()).runtime(job.rt())();
  lci::deregister_memory_x(&mr).runtime(job.rt())();
  lci::deregister_rcomp_x(rcomp).runtime(job.rt())();
  lci::free_comp_x(&arrived).runtime(job.rt())();
  lci::free_comp_x(&sync).runtime(job.rt())();
}

TEST_CASE("free_device says how many messages are lost, to which ranks") {
  apart job;
  auto stream = lci::alloc_stream_x().window(4).runtime(job.rt())();
  auto sync = lci::alloc_sync_x().runtime(job.rt())();
  const char byte = 'x';
  const auto post = [&](int n, lci::stream_t in) {
    for (int i = 0; i < n; ++i)
      REQUIRE(lci::post_am_x(1, &byte, 1, lci::COMP_NULL_RETRY, unknown)
                  .stream(in)
                  .allow_retry(false)
                  .device(job.device())
                  .runtime(job.rt())()
                  .is_done());
  };
  post(5, lci::stream_t());
  post(7, stream);  // some wait for the window
  // Not counted, since its completion object is signalled.
  REQUIRE(lci::post_send_x(1, &byte, 1, 3, sync)
              .comp_semantic(lci::comp_semantic_t::remote)
              .allow_retry(false)
              .device(job.device())
              .runtime(job.rt())()
              .is_posted());
  double seconds = 0;
  const std::string text = errors_of([&] { seconds = job.end(); });
  INFO(text);
  int lost = 0;
  for (size_t at = 0; (at = text.find("free_device: ", at)) != std::string::npos; ++at) {
    int n = 0, rank = 0;
    if (std::sscanf(text.c_str() + at, "free_device: %d message%*[s] to rank %d", &n, &rank) != 2) continue;
    CHECK(rank == 1);
    lost += n;
  }
  CHECK(lost == 12);
  CHECK(seconds < 60);
  lci::status_t s;
  REQUIRE(lci::sync_test_x(sync, &s).runtime(job.rt())());
  CHECK(s.error == lci::errorcode_t::cancelled);
  lci::free_stream_x(&stream).runtime(job.rt())();
  lci::free_comp_x(&sync).runtime(job.rt())();
}
