// Ranks that make different collective calls are told so where calls are checked: run by three ranks, of
// which rank 1 differs in the way that the argument names.
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
  if (how == "size") lci::broadcast(buffer, differs ? 64 : 128, 0);
  if (how == "root") lci::broadcast(buffer, 64, differs ? 1 : 0);
  if (how == "count") lci::allreduce(buffer, result, differs ? 3 : 4, 8, keep_left);
  if (how == "kind") differs ? lci::barrier() : lci::allgather(buffer, result, 8);
  if (how == "algorithm")
    lci::broadcast_x(buffer, 64, 0)
        .algorithm(differs ? lci::broadcast_algorithm_t::tree : lci::broadcast_algorithm_t::ring)();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  std::string text;
  try {
    lci::barrier();
    call(how, rank == 1);
    // Its own part may be over before the neighbours have said what they call.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(how == "equal" ? 1 : 20);
    while (std::chrono::steady_clock::now() < end) {
      lci::progress();
      std::this_thread::yield();
    }
  } catch (const lci::invalid_argument_error& e) {
    text = e.what();
  }
  // The others are to see what this rank calls, and not that it has ended.
  const auto a_while = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (how != "equal" && std::chrono::steady_clock::now() < a_while) {
    try {
      lci::progress();
    } catch (const std::exception&) {
      // The other neighbour differs, too; or has ended before.
    }
    std::this_thread::yield();
  }
  bool good;
  if (how == "equal")
    good = text.empty();
  else  // with three ranks all are neighbours of rank 1
    good = text.find("the same at all ranks") != std::string::npos &&
           text.find(rank == 1 ? "rank " : "rank 1 calls") != std::string::npos;
  if (!good) std::printf("rank %d: %s\n", rank, text.empty() ? "nothing was thrown" : text.c_str());
  std::fflush(stdout);
  if (how == "equal") {
    lci::g_runtime_fina();
    return good ? 0 : 1;
  }
  std::_Exit(good ? 0 : 1);  // what is under way has no end
}
