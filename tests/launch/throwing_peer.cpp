// A runtime that listens at the address of the first argument, whose handler throws at every second message while two
// threads make progress, and a peer that sends many messages to it. Prints "alive" if the peer did not count as failed.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "lci.hpp"

namespace {

using clock = std::chrono::steady_clock;

constexpr int n_messages = 200'000;
std::atomic<int> arrived{0};
std::atomic<bool> over{false}, failed{false};

void handle(void*, int, const void*, size_t, lci::tag_t) {
  if (arrived.fetch_add(1) % 2 == 1) throw std::runtime_error("a handler's");
}

/// Makes progress until all messages have arrived, the peer counts as failed, or time is over.
void make_progress(lci::runtime_t runtime, lci::device_t device, clock::time_point end) {
  while (arrived < n_messages && !over && clock::now() < end) {
    try {
      lci::progress_x().runtime(runtime).device(device)();
    } catch (const lci::peer_failure_error&) {
      over = failed = true;
    } catch (const std::runtime_error&) {
    }
  }
  over = true;
}

void send_all(lci::runtime_t peer, const std::string& address, lci::rcomp_t handler) {
  try {
    lci::comp_t connected = lci::alloc_sync_x().runtime(peer)();
    lci::status_t s = lci::connect_x(address).runtime(peer).local_comp(connected).timeout(60)();
    while (s.is_posted() && !lci::sync_test_x(connected, &s).runtime(peer)()) lci::progress_x().runtime(peer)();
    lci::free_comp_x(&connected).runtime(peer)();
    std::string message(1000, 'm');
    for (int i = 0; i < n_messages && !over;) {
      const lci::status_t sent =
          lci::post_am_x(s.rank, message.data(), message.size(), lci::COMP_NULL, handler).runtime(peer)();
      if (sent.is_retry())
        lci::progress_x().runtime(peer)();
      else
        ++i;
    }
    while (!over) lci::progress_x().runtime(peer)();
  } catch (const std::exception& error) {
    std::puts(error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 98;
  lci::runtime_t owner = lci::alloc_runtime_x().bootstrap("none").max_peers(2).alloc_default_device(false)();
  lci::net_context_t network = lci::alloc_net_context_x().runtime(owner).peer_listen(argv[1])();
  lci::device_t device = lci::alloc_device_x().runtime(owner).net_context(network)();
  lci::runtime_t peer = lci::alloc_runtime_x().bootstrap("none").max_peers(2)();
  lci::comp_t handler = lci::alloc_am_handler_x(handle).runtime(owner)();
  const lci::rcomp_t number = lci::register_rcomp_x(handler).runtime(owner)();
  const std::string address = lci::get_address_x().runtime(owner).net_context(network)();
  const auto end = clock::now() + std::chrono::seconds(20);
  std::thread sender([&] { send_all(peer, address, number); });
  std::thread other([&] { make_progress(owner, device, end); });
  make_progress(owner, device, end);
  other.join();
  sender.join();
  std::puts(failed ? "failed" : "alive");
  lci::free_runtime(&peer);
  lci::deregister_rcomp_x(number).runtime(owner)();
  lci::free_comp_x(&handler).runtime(owner)();
  lci::free_device_x(&device).runtime(owner)();
  lci::free_net_context_x(&network).runtime(owner)();
  lci::free_runtime(&owner);
  return 0;
}
