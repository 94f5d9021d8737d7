// Ranks that make different collective calls are told so where calls are checked: run by three ranks, of
// which rank 1 differs in the way that the argument names. With "equal", "long" and "paused" none does. With "long" what
// they tell each other has more than 64 bytes; with "paused" rank 0 has sent to rank 1 until that asked for a pause,
// and what it has sent is received after the call only.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <string>
#include <thread>

namespace {

void keep_left(const void* left, const void*, void* to, size_t n) { std::memcpy(to, left, n * 8); }

char buffer[1 << 16], result[1 << 16];

void call(const std::string& how, bool differs) {
  if (how == "equal") lci::broadcast(buffer, 64, 0);
  if (how == "long") lci::reduce_scatter(buffer, result, 0, size_t{1} << 40, keep_left);
  if (how == "paused") lci::barrier();
  if (how == "size") lci::broadcast(buffer, differs ? 64 : 128, 0);
  if (how == "root") lci::broadcast(buffer, 64, differs ? 1 : 0);
  if (how == "count") lci::allreduce(buffer, result, differs ? 3 : 4, 8, keep_left);
  if (how == "kind") differs ? lci::barrier() : lci::allgather(buffer, result, 8);
  if (how == "algorithm")
    lci::broadcast_x(buffer, 64, 0)
        .algorithm(differs ? lci::broadcast_algorithm_t::tree : lci::broadcast_algorithm_t::ring)();
}

std::atomic<int> to_receive{-1};
void hear_number(lci::status_t s) {
  int sent;
  std::memcpy(&sent, s.buffer, sizeof sent);
  std::free(s.buffer);
  to_receive.store(sent, std::memory_order_relaxed);
}

/// Sends until the peer asks for a pause. How many.
int send_until_paused(int peer) {
  int sent = 0;
  for (int refused = 0; refused < 1000;) {
    if (lci::post_send(peer, buffer, 1000, 7, lci::COMP_NULL_RETRY).is_retry()) {
      ++refused;
      lci::progress();
    } else {
      refused = 0;
      ++sent;
    }
  }
  return sent;
}

void receive(int peer, void* to, size_t size, lci::tag_t tag) {
  auto sync = lci::alloc_sync();
  lci::status_t s;
  do s = lci::post_recv(peer, to, size, tag, sync);
  while (s.is_retry());
  if (s.is_posted()) lci::sync_wait(sync, nullptr);
  lci::free_comp(&sync);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  std::string text;
  auto handler = lci::alloc_handler(hear_number);
  const lci::rcomp_t number_sent = lci::register_rcomp(handler);  // the same at all ranks
  const bool equal = how == "equal" || how == "long" || how == "paused";
  try {
    lci::barrier();
    int sent = 0;
    if (how == "paused" && rank == 0) sent = send_until_paused(1);
    // Rank 1 hears of all before it makes its call.
    const auto a_moment = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (how == "paused" && rank == 1 && std::chrono::steady_clock::now() < a_moment) lci::progress();
    call(how, rank == 1);
    if (how == "paused" && rank == 0) lci::post_am(1, &sent, sizeof sent, lci::COMP_NULL, number_sent);
    if (how == "paused" && rank == 1) {
      while (to_receive.load(std::memory_order_relaxed) < 0) lci::progress();
      for (int i = 0; i < to_receive.load(std::memory_order_relaxed); ++i) receive(0, result, 1000, 7);
    }
    // Its own part may be over before the neighbours have said what they call.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(equal ? 1 : 20);
    while (std::chrono::steady_clock::now() < end) {
      lci::progress();
      std::this_thread::yield();
    }
  } catch (const lci::invalid_argument_error& e) {
    text = e.what();
  }
  // The others are to see what this rank calls, and not that it has ended.
  const auto a_while = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (!equal && std::chrono::steady_clock::now() < a_while) {
    try {
      lci::progress();
    } catch (const std::exception&) {
      // The other neighbour differs, too; or has ended before.
    }
    std::this_thread::yield();
  }
  bool good;
  if (equal)
    good = text.empty();
  else  // with three ranks all are neighbours of rank 1
    good = text.find("the same at all ranks") != std::string::npos &&
           text.find(rank == 1 ? "rank " : "rank 1 calls") != std::string::npos;
  if (!good) std::printf("rank %d: %s\n", rank, text.empty() ? "nothing was thrown" : text.c_str());
  std::fflush(stdout);
  if (equal) {
    lci::deregister_rcomp(number_sent);
    lci::free_comp(&handler);
    lci::g_runtime_fina();
    return good ? 0 : 1;
  }
  std::_Exit(good ? 0 : 1);  // what is under way has no end
}
