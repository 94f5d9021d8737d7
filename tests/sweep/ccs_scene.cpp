#include "tests/sweep/ccs_scene.hpp"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sweep {

bool succeeds(const char* what, int result) {
  if (result == CCS_SUCCESS) return true;
  if (result != CCS_NOMEM) fail("%s returns %d", what, result);
  if (injected() == 0) fail("%s returns CCS_NOMEM, but nothing has failed", what);
  return false;
}

void turn() {
  CCS_poll();
  sched_yield();
}

void meet() {
  if (n_ranks == 1) return;
  const int mine = page->arrived[static_cast<size_t>(me)].fetch_add(1) + 1;
  until("the peer to reach the same point", [&] { return page->arrived[peer()].load() >= mine; });
}

void forget_results() {
  for (int i = 0; i < n_operations; ++i) result_of(me, i).store(outcome::none);
  meet();
}

void publish(int which, const void* address) {
  page->words[static_cast<size_t>(2 * which + me)].store(reinterpret_cast<uintptr_t>(address));
  meet();
}
void* published(int which, int rank) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(page->words[static_cast<size_t>(2 * which + rank)].load()));
}

size_t size_of(int i) {
  constexpr std::array<size_t, 8> sizes = {8, 600, 5000, 16384, 40000, 8, 150000, 24};
  return sizes[static_cast<size_t>(i) % sizes.size()];
}
void fill(void* at, size_t size, int i) { std::memset(at, 'a' + i, size); }
bool is_filled(const void* at, size_t size, int i) {
  const char* const bytes = static_cast<const char*>(at);
  return size == 0 || (bytes[0] == 'a' + i && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

void count_call(void* counter) { ++*static_cast<int*>(counter); }

}  // namespace sweep
