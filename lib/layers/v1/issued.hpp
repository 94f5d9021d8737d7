// Counts the operations of an endpoint for its fences.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include <sched.h>

namespace v1 {

/// The operations that this rank has issued on an endpoint and that have not ended here. Owned by the endpoint.
/// Thread-safe.
///
/// A fence waits for the operations that began before it. Other threads may issue operations without end, so a fence
/// that waited for a moment without any might wait forever. Therefore operations are counted by the period in which
/// they began. A fence begins another period, so that the operations of the one before it only become fewer. There are
/// at most two periods with operations, and two counters.
///
/// An operation ends after its completion was delivered, so a thread that has waited for a fence finds each completion.
/// But a thread that gets the last completion may free the endpoint at once. So the completions that are being
/// delivered are counted, too. The endpoint waits for their end before it is freed, except for those that the freeing
/// thread is delivering itself: their handlers are the callers.
///
/// All accesses are sequentially consistent (A1): an operation that began before a fence was counted before the fence
/// read the period, so each thread that begins a later period sees it counted.
class issued_operations {
 public:
  /// Counts an operation. Returns its period, for end().
  uint8_t begin() {
    const auto period = static_cast<uint8_t>(period_.load(std::memory_order_seq_cst) % 2);  // A1
    counts_[period].fetch_add(1, std::memory_order_seq_cst);                                // A1
    return period;
  }
  /// The operation was not posted after all.
  void withdraw(uint8_t period) { counts_[period].fetch_sub(1, std::memory_order_seq_cst); }  // A1
  /// Delivers the completion of an operation of `of`; null: of none. The operation ends with this object. A thread
  /// whose fence has waited for the operation sees what this thread has written before.
  class delivering {
   public:
    delivering(issued_operations* of, uint8_t period) : of_(of), period_(period) {
      if (of_ == nullptr) return;
      outer_ = std::exchange(innermost_, this);
      of_->counts_[period_].fetch_add(delivery, std::memory_order_seq_cst);  // A1
    }
    ~delivering() {
      if (of_ == nullptr) return;
      innermost_ = outer_;
      of_->counts_[period_].fetch_sub(delivery + 1, std::memory_order_seq_cst);  // A1
    }
    delivering(const delivering&) = delete;
    delivering& operator=(const delivering&) = delete;

   private:
    friend class issued_operations;
    // Of the objects of this thread, which are nested, the one that was constructed last.
    inline static constinit thread_local delivering* innermost_ __attribute__((tls_model("initial-exec"))) = nullptr;
    issued_operations* of_;        // null: does nothing
    delivering* outer_ = nullptr;  // the next one of this thread
    const uint8_t period_;
  };

  /// Returns true if there are operations whose completion is not even being delivered.
  bool has_any() const {
    for (const auto& count : counts_) {
      const int64_t n = count.load(std::memory_order_seq_cst);  // A1
      if (n % delivery != n / delivery) return true;
    }
    return false;
  }
  /// Called before the endpoint is freed. Ends the deliveries of this thread, and waits for those of others.
  void end_deliveries() {
    for (delivering** at = &delivering::innermost_; *at != nullptr;) {
      delivering& d = **at;
      if (d.of_ != this) {
        at = &d.outer_;
        continue;
      }
      *at = d.outer_;
      counts_[d.period_].fetch_sub(delivery + 1, std::memory_order_seq_cst);  // A1
      d.of_ = nullptr;  // the object remains, and does nothing more
    }
    for (const auto& count : counts_)
      while (count.load(std::memory_order_seq_cst) >= delivery) sched_yield();  // A1
  }

  /// One fence, of one thread.
  class fence {
   public:
    explicit fence(issued_operations& of) : of_(of), first_(of.period_.load(std::memory_order_seq_cst)) {}  // A1

    /// Returns whether all operations that began before the fence have ended.
    bool is_passed() {
      uint32_t period = of_.period_.load(std::memory_order_seq_cst);  // A1
      // A period begins when the counter that it uses is 0. The first after this fence's construction may have been
      // about to begin; the next two have seen both counters.
      if (period - first_ > 2) return true;
      for (uint32_t i = 0; i < 2; ++i) seen_over_[i] = seen_over_[i] || of_.is_over(i);
      if (seen_over_[0] && seen_over_[1]) return true;
      if (of_.is_over((period + 1) % 2))
        of_.period_.compare_exchange_strong(period, period + 1, std::memory_order_seq_cst);  // A1
      return false;
    }

   private:
    issued_operations& of_;
    const uint32_t first_;
    std::array<bool, 2> seen_over_{};
  };

 private:
  /// What one completion that is being delivered adds to a counter, whose lower half counts operations.
  static constexpr int64_t delivery = int64_t{1} << 32;

  bool is_over(uint32_t period) const { return counts_[period].load(std::memory_order_seq_cst) == 0; }  // A1

  std::atomic<uint32_t> period_{0};
  std::array<std::atomic<int64_t>, 2> counts_{};
};

}  // namespace v1
