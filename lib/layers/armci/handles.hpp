// Requests of non-blocking operations: what an armci_hdl_t of the program's means.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "armci/armci_types.h"

namespace armci_layer {

/// Counts what one request, or all with one process, still wait for. An answer decrements it as its last access.
struct request_state {
  std::atomic<int> pending{0};
  std::atomic<int> failure{0};  ///< 0, or the code of an operation that has failed
};

/// The program's handles. 0 stands for a request that is complete; numbers of others have marks by which the content of
/// an uninitialised variable is recognised. Thread-safe.
class handle_table {
 public:
  /// The state of a request that begins with *handle, which is given a number. An aggregate handle keeps its own.
  request_state& begin(armci_hdl_t* handle);
  /// Whether the variable has the number of a request that is open.
  bool is_open(armci_hdl_t handle) { return handle != 0 && find(handle) != nullptr; }
  /// Null if the handle is complete, or holds anything.
  request_state* find(armci_hdl_t handle);
  /// *handle is complete from now on; its state must have nothing pending.
  void end(armci_hdl_t* handle);

  void make_aggregate(armci_hdl_t* handle);
  void unmake_aggregate(armci_hdl_t handle);
  /// Whether operations with it are added to one request. Reads the variable only.
  bool is_aggregate(armci_hdl_t handle) {
    return (static_cast<uint32_t>(handle) & mark_bits) == mark && is_aggregate_slow(handle);
  }

 private:
  struct slot : request_state {
    uint32_t generation = 0;  // of the number, 12 bits
    bool used = false, aggregate = false;
  };
  // A number: 4 bits of a mark, 12 of a generation, 16 of an index.
  static constexpr uint32_t mark_bits = 0xf0000000u, mark = 0xa0000000u;
  static armci_hdl_t number_of(const slot& s, uint32_t index) {
    return static_cast<armci_hdl_t>(mark | (s.generation & 0xfff) << 16 | index);
  }
  slot* slot_of(armci_hdl_t handle);  // under mutex_
  uint32_t take();                    // under mutex_
  bool is_aggregate_slow(armci_hdl_t handle);

  std::mutex mutex_;
  std::deque<slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace armci_layer
