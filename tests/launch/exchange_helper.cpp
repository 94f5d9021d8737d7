// A rank that prints how many fences and reads it has requested from the launcher: after the start of its runtime, and
// after it has exchanged a message with each of some peers. `exchange_helper [--devices N] XOR...`: each peer's number
// is the rank's own with these bits inverted. `exchange_helper --during-fence`: see exchange_during_fence().
// `exchange_helper --queued`: see fence_with_queued_messages().
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <lci.hpp>
#include <thread>
#include <vector>

#include "lib/core/runtime/exchange.hpp"

namespace {

void report(int rank, const char* when) {
  const auto so_far = lci::core::count_exchanges();
  std::printf("rank=%d %s fences=%llu reads=%llu\n", rank, when, static_cast<unsigned long long>(so_far.fences),
              static_cast<unsigned long long>(so_far.reads));
}

/// Sends a message to the peer and receives one.
void exchange(int rank, int peer, lci::device_t device) {
  int mine = rank, its = -1;
  lci::comp_t done = lci::alloc_sync_x().threshold(2)();
  const auto received = lci::post_recv_x(peer, &its, sizeof its, 7, done).device(device).allow_done(false)();
  if (!received.is_posted()) std::exit(4);
  lci::status_t sent;
  do {
    sent = lci::post_send_x(peer, &mine, sizeof mine, 7, done).device(device).allow_done(false)();
    lci::progress_x().device(device)();
  } while (sent.is_retry());
  while (!lci::sync_test(done, nullptr)) lci::progress_x().device(device)();
  lci::free_comp(&done);
  if (its != peer) std::exit(5);
}

/// Rank 0 allocates a device, which is collective, while another of its threads connects to the last rank, which takes
/// part in the allocation only after that.
void exchange_during_fence(int rank) {
  const int last = lci::get_rank_n() - 1;
  std::thread other;
  if (rank == 0) {
    other = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      exchange(rank, last, lci::get_default_device());
    });
  } else if (rank == last) {
    exchange(rank, 0, lci::get_default_device());
  }
  lci::device_t device = lci::alloc_device();
  if (other.joinable()) other.join();
  lci::free_device(&device);
  report(rank, "through");
}

/// Rank 0 allocates a net context, which is collective, while messages to the last rank wait for room; the last rank
/// does so once it has received them.
void fence_with_queued_messages(int rank) {
  const int last = lci::get_rank_n() - 1;
  char bytes[1024] = {};
  lci::barrier();
  if (rank == 0) {
    while (lci::post_send(last, bytes, sizeof bytes, 1, lci::COMP_NULL).error != lci::errorcode_t::done_backlog)
      continue;
    bytes[0] = 1;
    lci::post_send(last, bytes, sizeof bytes, 1, lci::COMP_NULL);
  } else if (rank == last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    while (bytes[0] == 0) lci::post_recv(0, bytes, sizeof bytes, 1, lci::COMP_NULL);
  }
  lci::net_context_t context = lci::alloc_net_context();
  lci::free_net_context(&context);
  report(rank, "through");
}

}  // namespace

int main(int argc, char** argv) try {
  int more_devices = 0, first = 1;
  if (argc > 2 && std::strcmp(argv[1], "--devices") == 0) {
    more_devices = std::atoi(argv[2]);
    first = 3;
  }
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  report(rank, "start");
  if (argc == 2 && std::strcmp(argv[1], "--during-fence") == 0) {
    exchange_during_fence(rank);
    lci::g_runtime_fina();
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--queued") == 0) {
    fence_with_queued_messages(rank);
    lci::g_runtime_fina();
    return 0;
  }
  for (int i = first; i < argc; ++i) exchange(rank, rank ^ std::atoi(argv[i]), lci::get_default_device());
  report(rank, "met");
  std::vector<lci::device_t> devices;
  for (int i = 0; i < more_devices; ++i) devices.push_back(lci::alloc_device());
  report(rank, "devices");
  for (lci::device_t& d : devices) {
    for (int i = first; i < argc; ++i) exchange(rank, rank ^ std::atoi(argv[i]), d);
    lci::free_device(&d);
  }
  lci::g_runtime_fina();
  report(rank, "end");
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 9;
}
