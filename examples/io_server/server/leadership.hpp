// Which of the server's threads receives requests.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace io_server {

/// One thread at a time is the leader. It announces when it executes something that may hang, as a disk can. A thread
/// that watches it can then make the leader's place free, and the former leader learns that when it has finished.
/// Thread-safe. What only the leader uses needs no lock: each leader sees what the leaders before it did before they
/// announced an execution, or gave the place up.
class leadership {
 public:
  /// A thread that may become the leader. Used by this thread only.
  class member {
   public:
    explicit member(leadership& all) : all_(all) {}
    ~member() { give_up(); }
    member(const member&) = delete;
    member& operator=(const member&) = delete;

    bool leads() const { return leads_; }
    /// Waits until the place is free, and takes it. The thread must not be the leader.
    void lead();
    /// Makes the place free. Returns false if the thread is not the leader, perhaps not any more.
    bool give_up();

   private:
    friend class leadership;
    leadership& all_;
    uint64_t state_ = 0;  // what state_ of `all_` is if the thread is still the leader
    bool leads_ = false;
  };

  /// A scope in which the thread executes what may hang. In it, and after it unless the thread still leads, it must not
  /// use what belongs to the leader. Without effect for other threads, and in another such scope.
  class execution {
   public:
    explicit execution(member& of) : member_(of), is_outer_(of.leads_ && (of.state_ & executes) == 0) {
      if (is_outer_) member_.all_.state_.store(++member_.state_, std::memory_order_release);  // R1: pairs with A1
    }
    ~execution() {
      if (!is_outer_ || !member_.leads_) return;
      uint64_t expected = member_.state_++;
      member_.leads_ = member_.all_.state_.compare_exchange_strong(expected, member_.state_, std::memory_order_relaxed);
    }
    execution(const execution&) = delete;
    execution& operator=(const execution&) = delete;

   private:
    member& member_;
    const bool is_outer_;
  };

  /// Changes when the leader changes, and whenever it begins or ends an execution.
  uint64_t state() const { return state_.load(std::memory_order_relaxed); }
  /// Makes the place free if the leader still executes what it executed when state() returned `seen`. Returns whether
  /// it has made the place free.
  bool release_if(uint64_t seen);

 private:
  static constexpr uint64_t executes = 1;  // set in the state while the leader executes
  static constexpr uint64_t vacant = 0;

  /// Makes the place free if the state is `expected`. Returns whether it was.
  bool vacate(uint64_t expected);

  std::mutex mutex_;
  std::condition_variable is_vacant_;
  std::atomic<uint64_t> state_{vacant};  // becomes and ceases to be `vacant` under mutex_
  uint64_t next_ = 2;                    // larger than all states before, so none recurs; under mutex_
};

}  // namespace io_server
