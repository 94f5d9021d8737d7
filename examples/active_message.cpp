// Active messages: a table is distributed over the ranks; slot s belongs to rank s modulo the number of ranks. To count
// an event, a rank sends the slot's number to its owner, where a handler runs; no receive is posted.
//
//   lcirun -n 4 active_message [events of each rank]

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <vector>

namespace {

constexpr uint64_t slots = 1000;
int n_ranks;
std::vector<std::atomic<uint64_t>> counts(slots);
std::atomic<uint64_t> handled{0};

// Called inside progress(), in the thread that calls it. `status` also contains the sender's rank.
void count_it(lci::status_t status) {
  uint64_t slot;
  std::memcpy(&slot, status.buffer, sizeof slot);
  counts[slot / static_cast<uint64_t>(n_ranks)].fetch_add(1, std::memory_order_relaxed);
  handled.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  n_ranks = lci::get_rank_n();
  const auto n = static_cast<uint64_t>(n_ranks);

  // In place: the handler reads the payload in the network's buffer, and must not free it.
  lci::comp_t handler = lci::alloc_handler_x(count_it).am_in_place(true)();
  // The handle by which other ranks name the handler. All ranks register in the same order, so it is the same
  // everywhere.
  const lci::rcomp_t counter = lci::register_rcomp(handler);
  lci::barrier();  // all ranks have registered it

  std::vector<uint64_t> sent(n, 0);  // to each rank
  uint64_t random = static_cast<uint64_t>(me) + 1;
  for (uint64_t i = 0; i < events; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t slot = (random >> 33) % slots, owner = slot % n;
    const auto post = lci::post_am_x(static_cast<int>(owner), &slot, sizeof slot, lci::COMP_NULL_RETRY, counter);
    // The buffer may be reused once the post returns `done`. On `retry`, progress handles messages of other ranks,
    // which frees resources.
    while (post().is_retry()) lci::progress();
    ++sent[owner];
  }

  // Finished when this rank has handled as many messages as were sent to it.
  std::vector<uint64_t> expected(n);
  lci::alltoall(sent.data(), expected.data(), sizeof(uint64_t));
  uint64_t to_come = 0;
  for (const uint64_t e : expected) to_come += e;
  while (handled.load(std::memory_order_relaxed) < to_come) lci::progress();

  uint64_t mine = 0, all = 0;
  for (const auto& c : counts) mine += c.load(std::memory_order_relaxed);
  lci::allreduce(&mine, &all, 1, sizeof mine, [](const void* a, const void* b, void* d, size_t k) {
    for (size_t i = 0; i < k; ++i)
      static_cast<uint64_t*>(d)[i] = static_cast<const uint64_t*>(a)[i] + static_cast<const uint64_t*>(b)[i];
  });
  if (me == 0) std::printf("%llu events of %d ranks were counted\n", static_cast<unsigned long long>(all), n_ranks);
  lci::free_comp(&handler);
  lci::g_runtime_fina();
  return all == events * n ? 0 : 1;
}
