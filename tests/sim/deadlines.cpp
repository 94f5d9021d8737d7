// Networks over which puts stay outstanding until their target polls: the core knows of an operation's deadline in
// time to send its data as messages.
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "tests/sim/sim_runtime.hpp"
#include "tests/sim/waiting_network.hpp"

using sim_test::waiting_network;

TEST_CASE("a send goes by messages if another thread handles its answer before the post arms its deadline") {
  auto rt = sim_test::over_sim();
  auto* const network = waiting_network::before(lci::get_default_device_x().runtime(rt)());
  const std::vector<char> out(100'000, 'x');
  std::vector<char> in(out.size());
  auto sync = lci::alloc_sync_x().threshold(2).runtime(rt)();
  REQUIRE(lci::post_recv_x(0, in.data(), in.size(), 1, sync).runtime(rt)().is_posted());
  network->after_send = [&] {
    std::thread([&] {
      while (!lci::sync_test_x(sync, nullptr).runtime(rt)()) lci::progress_x().runtime(rt)();
    }).join();
  };
  lci::status_t sent = lci::post_send_x(0, out.data(), out.size(), 1, sync).deadline(3600).runtime(rt)();
  REQUIRE(sent.is_posted());
  CHECK(network->after_send == nullptr);
  CHECK(in == out);
  CHECK(network->accesses == 0);
  lci::free_comp_x(&sync).runtime(rt)();
  lci::free_runtime(&rt);
}

TEST_CASE("an ordered put that would overtake messages is made from a copy if it has a deadline") {
  auto rt = sim_test::over_sim();
  auto device = lci::alloc_device_x().close_timeout(0.01).runtime(rt)();
  auto* const network = waiting_network::before(device);
  std::vector<char> target(100'000, 't'), source(target.size());
  auto mr = lci::register_memory_x(target.data(), target.size()).device(device).runtime(rt)();
  const auto rmr = lci::get_rmr_x(mr).runtime(rt)();
  auto sync = lci::alloc_sync_x().runtime(rt)();
  const auto put = [&](double seconds) {
    source.assign(source.size(), 's');
    return lci::post_put_x(0, source.data(), source.size(), sync, 0, rmr)
        .ordered(true)
        .deadline(seconds)
        .device(device)
        .allow_done(false)
        .allow_retry(false)
        .runtime(rt)();
  };
  lci::status_t end;
  REQUIRE(put(3600).is_posted());
  lci::sync_wait_x(sync, &end).device(device).runtime(rt)();
  CHECK(end.is_done());
  CHECK(end.buffer == source.data());
  CHECK(target == source);

  target.assign(target.size(), 't');
  network->silent = true;
  REQUIRE(put(0).is_posted());
  lci::sync_wait_x(sync, &end).device(device).runtime(rt)();
  CHECK(end.error == lci::errorcode_t::timed_out);
  CHECK(end.buffer == source.data());
  const std::vector<char> posted = source;
  source.assign(source.size(), 'x');  // it is the program's again
  network->silent = false;
  lci::wait_drained_x().device(device).runtime(rt)();
  CHECK(target == posted);

  // The device ends while the network has the copy.
  network->silent = true;
  REQUIRE(put(3600).is_posted());
  CHECK(network->accesses >= 3);
  lci::free_device_x(&device).runtime(rt)();
  REQUIRE(lci::sync_test_x(sync, &end).runtime(rt)());
  CHECK(end.error == lci::errorcode_t::cancelled);
  CHECK(end.buffer == source.data());
  lci::deregister_memory_x(&mr).runtime(rt)();
  lci::free_comp_x(&sync).runtime(rt)();
  lci::free_runtime(&rt);
}
