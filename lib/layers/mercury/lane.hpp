// A context of an NA class, and how threads wait for its completions.
#pragma once

#include <na.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/biased_lock.hpp"
#include "lib/concurrent/measured_yield.hpp"
#include "lib/layers/na/direct.hpp"

namespace mercury {

/// A time limit that starts at the first call of left(), so that operations which complete at once do not read the
/// clock. For one thread.
class deadline {
 public:
  explicit deadline(unsigned timeout_ms) : timeout_ms_(timeout_ms) {}
  bool is_now() const { return timeout_ms_ == 0; }
  /// The remaining time in milliseconds, rounded up so that a wait never ends early.
  unsigned left();
  int64_t elapsed_ns();

 private:
  const unsigned timeout_ms_;
  int64_t begin_ns_ = 0;
};

/// A context of an NA class. Among the threads that wait, one at a time is the leader: it makes progress and runs
/// callbacks. The others (followers) sleep until the leader has run callbacks or returns. So no thread sleeps in
/// NA_Progress() for an event that another thread has consumed, and each thread keeps its own time limit. Owned jointly
/// by HG and bulk transfers. Thread-safe.
class lane {
 public:
  /// Creates a context. Returns null if the class has no more contexts. Throws std::bad_alloc; then none is left.
  static std::shared_ptr<lane> open(na_class_t* na);
  ~lane();
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  na_class_t* na() const { return na_; }
  na_context_t* context() const { return context_; }

  /// Makes progress and runs callbacks of completed operations, unless another thread is the leader.
  void poll() {
    if (!try_lead()) return;
    if (NA_Direct_poll(na_, context_, 1) == NA_SUCCESS) run_callbacks();
    stop_leading();
  }
  /// Makes the leader wake the followers although no callback has run, because a condition has changed otherwise. To be
  /// called before the call that wakes the leader.
  void note_event() {
    if (!events_.load(std::memory_order_relaxed)) events_.store(true, std::memory_order_relaxed);
  }

  /// Waits until done() or the limit; returns done(). done() must become true in a callback of this context or before
  /// this call; otherwise the wait may notice it late. Only the calling thread calls done().
  template <class Done>
  bool wait(deadline& limit, Done done) {
    if (done()) return true;
    if (limit.is_now()) {
      poll();
      return done();
    }
    for (;;) {
      if (try_lead()) {
        const bool result = lead(limit, done);
        stop_leading();
        return result;
      }
      follower f(*this);
      if (done()) return true;
      const unsigned left = limit.left();
      if (left == 0) return done();
      f.sleep(left);
      if (done()) return true;
    }
  }
  template <class Done>
  bool wait(unsigned timeout_ms, Done done) {
    deadline limit(timeout_ms);
    return wait(limit, done);
  }

 private:
  lane(na_class_t* na, na_context_t* context) : na_(na), context_(context) {}

  // A message is waited for by one thread nearly always, so the leader is the holder of a biased lock, and reads the
  // number of followers by a plain load until there is one for the first time. See `follower`.
  bool try_lead() {
    if (!leading_.try_lock()) return false;
    has_leader_.store(true, std::memory_order_relaxed);
    return true;
  }
  void stop_leading() {
    if (events_.load(std::memory_order_relaxed)) events_.store(false, std::memory_order_relaxed);
    has_leader_.store(false, std::memory_order_release);  // R1
    leading_.unlock();
    wake_followers();
  }

  template <class Done>
  bool lead(deadline& limit, Done& done) {
    // A response from the same host arrives within a few polls, which cost less than a sleep. If caller and server both
    // sleep, each call takes the time of two wake-ups. So poll for longer than two wake-ups before sleeping.
    constexpr int polls_at_once = 8;  // without looking whether another thread has changed what the caller waits for
    constexpr int polls = 64;         // between two reads of the clock
    constexpr int64_t longest_ns = 50'000;
    for (int i = polls_at_once;; i += polls_at_once) {
      if (NA_Direct_poll(na_, context_, polls_at_once) == NA_SUCCESS) run_callbacks();
      if (done()) return true;  // stop_leading() wakes the followers
      wake_after_event();
      if (i % polls != 0) continue;
      // Beside a thread that computes, a yield takes a time slice of it, and a sleeper is continued when it is woken.
      if (lci::measured_yield::is_dear() || limit.elapsed_ns() > longest_ns) break;
      lci::measured_yield::yield();  // the peer process may need this processor
    }
    for (;;) {
      run_callbacks();
      wake_after_event();
      if (done()) return true;
      const unsigned left = limit.left();
      const na_return_t result = NA_Progress(na_, context_, left);
      if (result != NA_SUCCESS && left == 0) return done();
      // For example, there was no memory for a moment: what the caller waits for may still come.
      if (LCI_UNLIKELY(result != NA_SUCCESS && result != NA_TIMEOUT)) pause();
    }
  }
  void run_callbacks();
  LCI_COLD static void pause();

  /// A thread that is about to sleep, or sleeps, as a follower. Holds the lock from its construction until it sleeps.
  ///
  /// No wake-up is lost: the follower counts itself (F1) before it checks done() and whether there is a leader. The
  /// leader reads the count (F2) after its callbacks, and after it has given up leadership. After the first follower,
  /// both are read-modify-writes of one word. If F2 is first, F1 synchronizes with it, so the follower sees the effects
  /// of the callbacks. If F1 is first, the leader sees the follower, and takes the lock, so it notifies after the
  /// follower has begun to sleep. The first follower says that from then on F2 is a read-modify-write (F3), then
  /// executes a barrier on all threads of the process. A leader that reads F3's old value did so before its part of the
  /// barrier, so the follower sees what the leader stored before that.
  class follower {
   public:
    explicit follower(lane& l) : lane_(l), lock_(l.lock_) {
      l.followers_.fetch_add(1, std::memory_order_acq_rel);  // F1
      if (LCI_LIKELY(l.has_had_followers_.load(std::memory_order_relaxed))) return;
      l.has_had_followers_.store(true, std::memory_order_relaxed);  // F3
      if (lci::process_barrier::is_possible()) lci::process_barrier::execute();
    }
    ~follower() { lane_.followers_.fetch_sub(1, std::memory_order_relaxed); }
    void sleep(unsigned ms);

   private:
    lane& lane_;
    std::unique_lock<std::mutex> lock_;
  };
  void wake_followers() {
    lci::compiler_barrier();
    if (LCI_UNLIKELY(has_had_followers_.load(std::memory_order_relaxed)) &&
        followers_.fetch_add(0, std::memory_order_acq_rel) != 0)  // F2
      wake();
  }
  void wake_after_event() {
    if (!events_.load(std::memory_order_relaxed)) return;
    events_.store(false, std::memory_order_relaxed);
    wake_followers();
  }
  LCI_COLD void wake();

  na_class_t* const na_;
  na_context_t* const context_;
  lci::biased_lock leading_;
  std::atomic<bool> has_leader_{false};  // written under `leading_`
  std::atomic<uint32_t> followers_{0};
  /// True from the start if the process can't execute barriers.
  std::atomic<bool> has_had_followers_{!lci::process_barrier::is_possible()};
  std::atomic<bool> events_{false};
  std::mutex lock_;  // for changed_
  std::condition_variable changed_;
};

}  // namespace mercury
