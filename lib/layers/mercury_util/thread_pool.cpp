// mercury_thread_pool.h.
#include <mercury_thread_pool.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

/// The queue of functions and the threads that execute them. Created and destroyed by the program; any thread may post.
/// All members but `threads` are guarded by `lock`.
struct hg_thread_pool {
  struct work {
    hg_thread_func_t function;
    void* argument;
  };

  ~hg_thread_pool() {
    {
      std::lock_guard guard(lock);
      ends = true;
    }
    changed.notify_all();
    for (std::thread& t : threads) t.join();
  }

  void run() {
    std::unique_lock guard(lock);
    for (;;) {
      changed.wait(guard, [&] { return ends || !queue.empty(); });
      if (queue.empty()) return;  // what was posted before the end is executed
      const work w = queue.front();
      queue.pop_front();
      guard.unlock();
      w.function(w.argument);
      guard.lock();
    }
  }

  std::mutex lock;
  std::condition_variable changed;
  std::deque<work> queue;
  bool ends = false;
  std::vector<std::thread> threads;
};

int hg_thread_pool_init(unsigned int thread_count, hg_thread_pool_t** pool) {
  if (pool == nullptr || thread_count == 0) return HG_UTIL_FAIL;
  hg_thread_pool* made = nullptr;
  try {
    made = new hg_thread_pool;
    made->threads.reserve(thread_count);
    for (unsigned i = 0; i < thread_count; ++i) made->threads.emplace_back([made] { made->run(); });
  } catch (const std::exception&) {  // no memory, or no more threads
    delete made;
    return HG_UTIL_FAIL;
  }
  *pool = made;
  return HG_UTIL_SUCCESS;
}

int hg_thread_pool_destroy(hg_thread_pool_t* pool) {
  if (pool == nullptr) return HG_UTIL_FAIL;
  delete pool;
  return HG_UTIL_SUCCESS;
}

int hg_thread_pool_post(hg_thread_pool_t* pool, hg_thread_func_t f, void* args) {
  if (pool == nullptr || f == nullptr) return HG_UTIL_FAIL;
  try {
    std::lock_guard guard(pool->lock);
    if (pool->ends) return HG_UTIL_FAIL;
    pool->queue.push_back({f, args});
  } catch (const std::bad_alloc&) {
    return HG_UTIL_FAIL;
  }
  pool->changed.notify_one();
  return HG_UTIL_SUCCESS;
}
