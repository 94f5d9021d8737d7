#include "lib/base/thread_index.hpp"

#include <mutex>
#include <queue>
#include <vector>

namespace lci::detail {

constinit thread_local int tls_thread_index = -1;

namespace {

// Leaked on purpose: threads may end after the destructors of static objects have run.
struct index_pool {
  std::mutex mutex;  // its unlock/lock pair is the happens-before edge between two owners
  std::priority_queue<int, std::vector<int>, std::greater<>> free;
  int next = 0;
};
index_pool& pool() {
  static auto* p = new index_pool;
  return *p;
}

struct returns_index {
  int index = -1;
  ~returns_index() {
    if (index < 0 || index == max_thread_index) return;
    tls_thread_index = max_thread_index;  // whatever runs later in this thread must lock
    std::lock_guard lock(pool().mutex);
    pool().free.push(index);
  }
};
thread_local returns_index guard;

}  // namespace

int assign_thread_index() {
  std::lock_guard lock(pool().mutex);
  auto& p = pool();
  int index = max_thread_index;
  if (!p.free.empty()) {
    index = p.free.top();
    p.free.pop();
  } else if (p.next < max_thread_index) {
    index = p.next++;
  }
  guard.index = index;
  return tls_thread_index = index;
}

}  // namespace lci::detail
