// With checked calls, ranks that make different collective calls get an error. Run by three ranks, of which rank 1
// differs in the way that the argument names; with "equal", "long" and "paused" none differs. With "long" the
// descriptions of calls that ranks exchange have more than 64 bytes. With "paused" rank 0 sends to rank 1 until it
// gets the request to pause, and rank 1 receives the messages only after the collective call.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
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
  if (how == "comp") differs ? lci::barrier_x().comp(lci::alloc_sync())() : lci::barrier();
  if (how == "algorithm")
    lci::broadcast_x(buffer, 64, 0)
        .algorithm(differs ? lci::broadcast_algorithm_t::tree : lci::broadcast_algorithm_t::ring)();
}

/// All ranks get the error in the call, and later calls work.
int allocate_unequal_parts(const std::string& how) {
  const int rank = lci::get_rank_me();
  const size_t size = how == "parts of other sizes" && rank == 1 ? 128 : 64;
  const size_t alignment = how == "parts of other alignments" && rank == 1 ? 4096 : 64;
  // 3 is an invalid alignment: the other ranks must not wait for the rank that is refused.
  const size_t wrong = how == "parts, one of them misused" && rank == 1 ? 3 : alignment;
  std::string text;
  try {
    lci::alloc_symmetric_x(size).alignment(wrong)();
  } catch (const std::exception& e) {
    text = e.what();
  }
  const auto says = [&](const std::string& what) { return text.find(what) != std::string::npos; };
  bool good;
  if (how == "parts, one of them misused")
    good = says(rank == 1 ? "alignment" : "rank 1 could not allocate its part");
  else
    good = says("the same at all ranks") && says("rank 0: size = 64, alignment = 64") &&
           says(how == "parts of other sizes" ? "rank 1: size = 128, alignment = 64"
                                              : "rank 1: size = 64, alignment = 4096");
  if (!good) std::printf("rank %d: %s\n", rank, text.empty() ? "nothing was thrown" : text.c_str());
  lci::symmetric_t memory = lci::alloc_symmetric_x(size).alignment(alignment).equal_parts(false)();
  const size_t theirs = lci::get_symmetric_rmr(memory, 1).size();
  if (theirs != (how == "parts of other sizes" ? 128u : 64u)) good = false;
  lci::free_symmetric(&memory);
  lci::g_runtime_fina();
  return good ? 0 : 1;
}

std::atomic<int> to_receive{-1};
void hear_number(lci::status_t s) {
  int sent;
  std::memcpy(&sent, s.buffer, sizeof sent);
  std::free(s.buffer);
  to_receive.store(sent, std::memory_order_relaxed);
}

/// Sends until the peer requests a pause. Returns the number of messages.
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
  if (how.rfind("parts", 0) == 0) return allocate_unequal_parts(how);
  const int rank = lci::get_rank_me();
  std::string text;
  auto handler = lci::alloc_handler(hear_number);
  const lci::rcomp_t number_sent = lci::register_rcomp(handler);  // the same at all ranks
  const bool equal = how == "equal" || how == "long" || how == "paused";
  try {
    lci::barrier();
    int sent = 0;
    if (how == "paused" && rank == 0) sent = send_until_paused(1);
    // Rank 1 receives all messages before it makes its call.
    const auto a_moment = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (how == "paused" && rank == 1 && std::chrono::steady_clock::now() < a_moment) lci::progress();
    call(how, rank == 1);
    if (how == "paused" && rank == 0) lci::post_am(1, &sent, sizeof sent, lci::COMP_NULL, number_sent);
    if (how == "paused" && rank == 1) {
      while (to_receive.load(std::memory_order_relaxed) < 0) lci::progress();
      for (int i = 0; i < to_receive.load(std::memory_order_relaxed); ++i) receive(0, result, 1000, 7);
    }
    // The call may return before the neighbours have sent the descriptions of theirs.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(equal ? 1 : 20);
    while (std::chrono::steady_clock::now() < end) {
      lci::progress();
      std::this_thread::yield();
    }
  } catch (const lci::invalid_argument_error& e) {
    text = e.what();
  }
  // The other ranks must get the description of this rank's call before this rank ends.
  const auto a_while = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (!equal && std::chrono::steady_clock::now() < a_while) {
    try {
      lci::progress();
    } catch (const std::exception&) {
      // The other neighbour differs, too, or has already ended.
    }
    std::this_thread::yield();
  }
  bool good;
  if (equal)
    good = text.empty();
  else  // with three ranks, both others are neighbours of rank 1
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
  std::_Exit(good ? 0 : 1);  // operations in flight do not end
}
