// Detects the end of a traversal: everything that was sent has been received.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace kmer_count {

/// The end of a traversal on one rank. There are three steps, each announced to all other ranks: 1. When its last
/// thread has read its last piece of input and sent its last batch, the rank sends each other rank the number of
/// batches it has sent there. 2. When it has received those numbers from all others and processed as many batches, no
/// more can arrive: it prepares the next phase and announces that it is ready. 3. When all ranks have announced that
/// they are ready, the traversal has ended. Messages of the next traversal may arrive between 2 and 3, so each
/// traversal has its own state. Thread-safe.
class traversal_end {
 public:
  traversal_end(int nranks, size_t nthreads) : others_(static_cast<uint64_t>(nranks) - 1), reading_(nthreads) {
    for (int r = 0; r < nranks; ++r) sent_.push_back(std::make_unique<std::atomic<uint64_t>>(0));
  }

  /// Adds the batches that a thread has sent to a rank; called before thread_has_sent_all().
  void add_sent(int rank, uint64_t batches) {
    sent_[static_cast<size_t>(rank)]->fetch_add(batches, std::memory_order_relaxed);
  }
  /// Returns true for the last thread of the rank, which then does step 1.
  bool thread_has_sent_all() {
    return reading_.fetch_sub(1, std::memory_order_acq_rel) == 1;  // orders all add_sent()
  }
  uint64_t sent_to(int rank) const { return sent_[static_cast<size_t>(rank)]->load(std::memory_order_relaxed); }

  /// A batch has been processed.
  void batch_processed() {
    processed_.fetch_add(1, std::memory_order_release);  // T1: pairs with T2
  }
  /// Another rank has announced how many batches it has sent here.
  void others_total(uint64_t batches) {
    announced_.fetch_add(batches, std::memory_order_relaxed);
    totals_.fetch_add(1, std::memory_order_release);  // T3: pairs with T4
  }
  /// Another rank has announced that it is ready.
  void other_is_ready() {
    ready_.fetch_add(1, std::memory_order_release);  // T5: pairs with T6
  }

  /// Returns true once, to one thread, when no more batches can arrive; that thread does step 2. The rank's own input
  /// must have ended too, since a rank processes its own k-mers without messages.
  bool claim_ready() {
    if (claimed_.load(std::memory_order_relaxed)) return false;
    if (reading_.load(std::memory_order_acquire) != 0) return false;       // threads' own k-mers
    if (totals_.load(std::memory_order_acquire) != others_) return false;  // T4: pairs with T3
    if (processed_.load(std::memory_order_acquire) !=                      // T2: pairs with T1
        announced_.load(std::memory_order_relaxed)) {
      return false;
    }
    return !claimed_.exchange(true, std::memory_order_relaxed);
  }
  /// This rank has done step 2.
  void self_is_ready() { ready_.fetch_add(1, std::memory_order_release); }  // T5: pairs with T6

  bool ended() const {
    return ready_.load(std::memory_order_acquire) == others_ + 1;  // T6: pairs with T5
  }

 private:
  const uint64_t others_;
  std::vector<std::unique_ptr<std::atomic<uint64_t>>> sent_;
  std::atomic<size_t> reading_;
  std::atomic<bool> claimed_{false};
  alignas(64) std::atomic<uint64_t> processed_{0};
  alignas(64) std::atomic<uint64_t> announced_{0};
  std::atomic<uint64_t> totals_{0};
  std::atomic<uint64_t> ready_{0};
};

}  // namespace kmer_count
