// Prints the heap memory, in bytes, of a rank that has exchanged a message with each other rank. Its growth with the
// number of ranks is the memory cost of a peer.
#include <malloc.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <lci.hpp>

namespace {

std::atomic<int> arrived{0};
void on_message(lci::status_t) { arrived.fetch_add(1, std::memory_order_relaxed); }

size_t heap_in_use() {
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

void run() {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me(), n = lci::get_rank_n();
  lci::comp_t comp = lci::alloc_handler_x(on_message).am_in_place(true)();
  const lci::rcomp_t handler = lci::register_rcomp(comp);
  lci::barrier();
  const auto send = [&](int to, const void* bytes, size_t size) {
    while (lci::post_am(to, bytes, size, lci::COMP_NULL_RETRY, handler).is_retry()) lci::progress();
  };
  // Libraries allocate buffers at the first message that is too large to be injected: once per process, not per peer.
  const char large[2048] = {};
  send((rank + 1) % n, large, sizeof large);
  for (int to = 0; to < n; ++to)
    if (to != rank) send(to, &rank, sizeof rank);
  while (arrived.load(std::memory_order_relaxed) < n) lci::progress();
  lci::barrier();
  if (rank == 0) std::printf("%zu\n", heap_in_use());
  lci::deregister_rcomp(handler);
  lci::free_comp(&comp);
  lci::g_runtime_fina();
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "peer_memory: %s\n", e.what());
    return 1;
  }
  return 0;
}
