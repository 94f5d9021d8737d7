#include "lib/base/thread_index.hpp"

#include <pthread.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace lci::detail {

constinit thread_local int tls_thread_index = -1;

namespace {

// Allocates no memory, since a thread's first call may be one that must not fail, and needs no destructor: threads may
// end after those of static objects have run.
std::mutex pool_mutex;                           // its unlock/lock pair is the happens-before edge between two owners
constinit std::bitset<max_thread_index> in_use;  // under pool_mutex

void give_back(int index) {
  std::lock_guard lock(pool_mutex);
  in_use.reset(static_cast<size_t>(index));
}

/// Returns the index of a thread that ends. (For a thread_local object with a destructor, the C library would
/// allocate memory for each thread, and abort if it can't.)
class thread_end {
 public:
  thread_end() : works_(pthread_key_create(&key_, ended) == 0) {}
  ~thread_end() {
    if (works_) pthread_key_delete(key_);
    works_ = false;
  }
  /// Returns false if the end of this thread can't be detected.
  bool watch(int index) const {
    return works_ && pthread_setspecific(key_, reinterpret_cast<void*>(static_cast<intptr_t>(index) + 1)) == 0;
  }

 private:
  static void ended(void* value) {
    tls_thread_index = max_thread_index;  // code that runs later in this thread must lock
    give_back(static_cast<int>(reinterpret_cast<intptr_t>(value)) - 1);
  }

  pthread_key_t key_{};
  bool works_;
};
const thread_end watched;

}  // namespace

int assign_thread_index() {
  size_t index = 0;
  {
    std::lock_guard lock(pool_mutex);
    while (index < in_use.size() && in_use.test(index)) ++index;
    if (index < in_use.size()) in_use.set(index);
  }
  if (index < in_use.size() && !watched.watch(static_cast<int>(index))) {
    give_back(static_cast<int>(index));
    index = in_use.size();
  }
  return tls_thread_index = static_cast<int>(index);
}

}  // namespace lci::detail
