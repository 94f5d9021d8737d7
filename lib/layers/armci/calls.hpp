// Requests to other hosts that wait for an answer: gets, read-modify-writes, fences, locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/layers/armci/handles.hpp"
#include "lib/layers/armci/layout.hpp"

namespace armci_layer {

/// A call from its request to the end of its last answer. The data of answers goes to a layout of this process.
struct call {
  uint32_t token = 0;
  int proc = -1;
  layout destination;
  std::vector<void*> segments;  ///< behind a destination that is a list
  std::atomic<size_t> left{0};  ///< bytes still to come; an answer without data counts one
  std::atomic<int> users{0};    ///< threads that are writing an answer's data
  std::atomic<int> failure{0};
  static constexpr size_t most_states = 4;
  request_state* states[most_states] = {};  ///< their `pending` is decremented when the call ends
};

/// Thread-safe. To end a call needs no memory, since a thread may wait for its end.
class call_table {
 public:
  /// Begins a call to `proc` that ends after `size` bytes of answers, or after one answer if `size` is 0. Increments
  /// `pending` of the states. Returns the call's token.
  uint32_t begin(int proc, const layout& destination, size_t size, std::initializer_list<request_state*> states);
  /// Handles an answer of `source`. Returns true if a call has ended. An answer that makes no sense is ignored.
  bool receive(int source, const std::byte* bytes, size_t size);
  /// Ends a call that a completion of the network ends, not a message. `failure`: 0, or the reason of the failure.
  void finish(uint32_t token, int failure);
  /// Ends all calls to a process that has failed. Returns true if there were any.
  bool fail(int proc);
  /// Ends a call whose request was not sent, if the failure of its process has not done so. The states get no failure,
  /// since the function that has issued the call reports it.
  void drop(uint32_t token);

 private:
  void end(call& c);
  /// Ends a call that answers don't find any more. Returns false if the thread of the last answer ends it.
  bool end_failed(call& c, int failure);

  std::mutex mutex_;
  std::deque<std::unique_ptr<call>> calls_;  // by the lower 20 bits of the token; under mutex_
  std::vector<uint32_t> free_;
};

}  // namespace armci_layer
