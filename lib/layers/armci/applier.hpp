// A thread that applies accumulates of other hosts while further messages are received.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace armci_layer {

/// A queue of copies of requests, and the thread that handles them in the order of the queue. Where a request of a
/// process is queued, all its later ones are, until the queue has none of it: so the requests of each process stay in
/// order. Thread-safe; calls of take() for one process must not overlap.
///
/// One thread at a time handles: the own one or, where the queue is full, the one that receives. So nobody waits for
/// room, and the queue is bounded.
class applier {
 public:
  /// Must not throw. Called by one thread at a time.
  using handler = std::function<void(int source, const std::byte* bytes, size_t size)>;
  /// For requests of `n` processes, of at most `largest` bytes. Throws std::system_error if no thread can be created.
  applier(int n, size_t largest, handler handle);
  /// After the queue is empty.
  ~applier();
  applier(const applier&) = delete;
  applier& operator=(const applier&) = delete;

  /// Queues a request, and returns true, if an earlier one of `source` is still queued, or if it is `worth` it and the
  /// one before it was so a short time ago: then more will arrive meanwhile. Otherwise the caller handles it.
  bool take(int source, const std::byte* bytes, size_t size, bool worth);

  /// Whether this process has a processor for the thread, besides those for the program and for receiving, if
  /// `neighbours` processes of the host share those that it may use. The environment variable ARMCI_APPLIER, 0 or 1,
  /// decides instead.
  static bool is_useful(int neighbours);

 private:
  struct entry {
    int source = 0;
    size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
  };
  struct alignas(64) origin {
    std::atomic<size_t> queued{0};  ///< requests that are queued or being handled
    int64_t last_worth = 0;         ///< ns; only take() uses it
  };

  void run();
  /// Handles the first entry; waits while another thread handles one. False if there was none.
  bool handle_one();
  std::unique_ptr<std::byte[]> buffer();
  /// Whether this thread is within handle_one(). Other threads never store its id, so a relaxed load suffices.
  bool is_handling() const { return handler_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  const handler handle_;
  const size_t largest_;
  const std::unique_ptr<origin[]> origins_;
  std::mutex handling_;                     ///< held while an entry is handled; taken before mutex_
  std::atomic<std::thread::id> handler_{};  ///< the thread that has handling_
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<entry> queue_;                           // under mutex_
  std::vector<std::unique_ptr<std::byte[]>> unused_;  // under mutex_
  bool sleeping_ = false, stop_ = false;              // under mutex_
  std::thread thread_;
};

}  // namespace armci_layer
