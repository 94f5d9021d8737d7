// Requests of non-blocking operations: what an armci_hdl_t of the program's means.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "armci/armci_types.h"

namespace armci_layer {

/// Counts what one request, or all with one process, still wait for. An answer decrements it as its last access.
struct request_state {
  std::atomic<int> pending{0};
  std::atomic<int> failure{0};  ///< 0, or the code of an operation that has failed
};

/// The program's handles. 0 stands for a request that is complete; numbers of others have marks by which the content of
/// an uninitialised variable is recognised. Requests that are complete but were never waited for, since the program has
/// called ARMCI_WaitAll or ARMCI_Fence instead, lose their places once all places are taken. Thread-safe.
class handle_table {
  struct slot;

 public:
  /// A request that a thread issues or waits for, which keeps its place meanwhile.
  class holder {
   public:
    holder() = default;
    holder(holder&& other) noexcept { *this = std::move(other); }
    holder& operator=(holder&& other) noexcept {
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~holder();
    explicit operator bool() const { return slot_ != nullptr; }
    request_state* state() const;  ///< null if there is none

   private:
    friend class handle_table;
    explicit holder(slot& s);  // under mutex_
    slot* slot_ = nullptr;
  };

  /// A request that begins with *handle, which is given a number. An aggregate handle keeps that of its open request.
  /// None if the requests of all places are under way. Throws `error` if none of them will ever end.
  holder begin(armci_hdl_t* handle);
  /// None if the handle is complete, or holds anything.
  holder find(armci_hdl_t handle);
  /// Ends the request of *handle, none of whose operations may be pending, and frees its place. *handle becomes 0; an
  /// aggregate handle remains one, so the program may use it again.
  void end(armci_hdl_t* handle);

  void make_aggregate(armci_hdl_t* handle);
  void unmake_aggregate(armci_hdl_t* handle);
  /// Returns whether operations with it are added to one request. Reads the variable only.
  bool is_aggregate(armci_hdl_t handle) {
    return handle == idle_aggregate ||
           ((static_cast<uint32_t>(handle) & mark_bits) == mark && is_aggregate_slow(handle));
  }

 private:
  struct slot : request_state {
    std::atomic<int> holders{0};
    uint32_t generation = 0;  // of the number, 12 bits
    bool used = false, aggregate = false;
  };
  // A number: 4 bits of a mark, 12 of a generation, 16 of an index.
  static constexpr uint32_t mark_bits = 0xf0000000u, mark = 0xa0000000u;
  static constexpr size_t most_slots = 0x10000;
  /// An aggregate handle without an open request takes no place, since programs also forget such handles.
  static constexpr auto idle_aggregate = static_cast<armci_hdl_t>(0xb5e6a99eu);
  static armci_hdl_t number_of(const slot& s, uint32_t index) {
    return static_cast<armci_hdl_t>(mark | (s.generation & 0xfff) << 16 | index);
  }
  slot* slot_of(armci_hdl_t handle);  // under mutex_
  bool make_room();                   // under mutex_
  bool is_aggregate_slow(armci_hdl_t handle);

  std::mutex mutex_;
  std::deque<slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace armci_layer
