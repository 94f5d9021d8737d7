// Messages that a peer waits for, and that could not be posted for want of memory.
#pragma once

#include <lci.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "lib/concurrent/spinlock.hpp"

struct LCI_endpoint_s;

namespace v1 {

/// Work that waits for memory. It stays where it is: the list refers to it until it calls go_on() or drop().
class postponed {
 public:
  /// Tries again, outside of the core's progress. Postpones itself anew if there is still no memory.
  virtual void go_on() noexcept = 0;
  /// The device is freed, so there will be no other attempt.
  virtual void drop() noexcept = 0;

 protected:
  postponed() = default;
  ~postponed() = default;
  postponed(const postponed&) = delete;
  postponed& operator=(const postponed&) = delete;

 private:
  friend class postponed_work;
  LCI_device_t device_ = nullptr;
  postponed* next_ = nullptr;
};

/// The postponed work of this rank, which the functions that make progress try again. Allocates nothing, since memory
/// is short. Part of the world. Thread-safe.
class postponed_work {
 public:
  postponed_work();
  postponed_work(const postponed_work&) = delete;
  postponed_work& operator=(const postponed_work&) = delete;

  void add(postponed& work, LCI_device_t device) noexcept;
  /// Tries everything once. Returns whether there was anything.
  bool go_on() noexcept { return has_any_.load(std::memory_order_relaxed) && go_on_with_all(); }
  /// Drops what waits for this device.
  void drop(LCI_device_t device) noexcept;

  /// Postpones to tell a rank that its operation `id` has failed. Returns false if too many such messages wait.
  bool add_refusal(LCI_endpoint_s& ep, int rank, LCI_tag_t tag, uint64_t id) noexcept;

 private:
  struct refusal final : postponed {
    void go_on() noexcept override;
    void drop() noexcept override;

    LCI_device_t device = nullptr;
    uint32_t tag = 0;  // with the bits of the endpoint, which the program may free meanwhile
    int rank = 0;
    uint64_t id = 0;
    refusal* next_free = nullptr;  // under lock_
  };

  [[gnu::cold]] bool go_on_with_all() noexcept;
  postponed* take_all() noexcept;
  void give_back(refusal& r) noexcept;

  lci::spinlock lock_;
  postponed* first_ = nullptr;        // under lock_
  std::atomic<bool> has_any_{false};  // written under lock_
  std::array<refusal, 256> refusals_;
  refusal* free_ = nullptr;  // under lock_
};

}  // namespace v1
