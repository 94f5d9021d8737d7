// Ranks that make different collective calls are told so where calls are checked: run by three ranks, of
// which rank 1 differs in the way that the argument names.
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
  if (how == "size") lci::broadcast(buffer, differs ? 64 : 128, 0);
  if (how == "root") lci::broadcast(buffer, 64, differs ? 1 : 0);
  if (how == "count") lci::allreduce(buffer, result, differs ? 3 : 4, 8, keep_left);
  if (how == "kind") differs ? lci::barrier() : lci::allgather(buffer, result, 8);
  if (how == "algorithm")
    lci::broadcast_x(buffer, 64, 0)
        .algorithm(differs ? lci::broadcast_algorithm_t::tree : lci::broadcast_algorithm_t::ring)();
}

/// All learn of it at once, in the call, and what follows works.
int allocate_unequal_parts(const std::string& how) {
  const int rank = lci::get_rank_me();
  const size_t size = how == "parts of other sizes" && rank == 1 ? 128 : 64;
  const size_t alignment = how == "parts of other alignments" && rank == 1 ? 4096 : 64;
  // One that no rank may ask for: the others are not to wait for that rank.
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

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  lci::g_runtime_init();
  if (how.rfind("parts", 0) == 0) return allocate_unequal_parts(how);
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
