// A thread that applies accumulates of other hosts, while another thread receives further messages.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace armci_layer {

/// A queue of copies of requests, and a thread that handles them in the order of the queue. Owns both. Thread-safe, but
/// calls of take() for one process must not overlap.
///
/// Invariants: while a request of a process is queued, all later requests of that process are queued as well, so they
/// are handled in order. One thread at a time handles requests: the applier's or, if the queue is full, the receiving
/// thread. So the queue is bounded, and the receiving thread never waits for space in it.
class applier {
 public:
  /// Must not throw. Called by one thread at a time.
  using handler = std::function<void(int source, const std::byte* bytes, size_t size)>;
  /// For requests of `n` processes, of at most `largest` bytes. Throws std::system_error if no thread can be created.
  applier(int n, size_t largest, handler handle);
  /// Returns after all queued requests have been handled.
  ~applier();
  applier(const applier&) = delete;
  applier& operator=(const applier&) = delete;

  /// Queues a request and returns true, or returns false if the caller must handle it. Queues it if an earlier request
  /// of `source` is still queued, or if the request is long enough (`worth`) and follows another such request closely,
  /// so that further ones will probably arrive while it is applied.
  bool take(int source, const std::byte* bytes, size_t size, bool worth);

  /// Returns whether the environment variable ARMCI_APPLIER requests the thread or forbids it; empty if it is not set.
  /// Throws `error` if it has another value.
  static std::optional<bool> requested();
  /// Returns whether this process has a processor for the thread, in addition to those for the program and for the
  /// receiving thread, if `neighbours` processes share the processors that it may use.
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
  /// Handles the first entry; waits while another thread handles one. Returns false if the queue was empty.
  bool handle_one();
  std::unique_ptr<std::byte[]> buffer();
  /// Returns whether this thread is within handle_one(). Other threads never store its id, so a relaxed load suffices.
  bool is_handling() const { return handler_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  const handler handle_;
  const size_t largest_;
  const std::unique_ptr<origin[]> origins_;
  std::mutex handling_;                     ///< held while an entry is handled; taken before mutex_
  std::atomic<std::thread::id> handler_{};  ///< the thread that holds handling_
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<entry> queue_;                           // under mutex_
  std::vector<std::unique_ptr<std::byte[]>> unused_;  // under mutex_
  bool sleeping_ = false, stop_ = false;              // under mutex_
  std::thread thread_;
};

}  // namespace armci_layer
