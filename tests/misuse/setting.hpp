// The arguments of the generated cases of misuse: valid ones of every type, and invalid ones that are no constants.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <lci.hpp>
#include <limits>
#include <vector>

namespace misuse {

using namespace lci;  // types and operations, as in the generated table

constexpr size_t two_to_63 = size_t{1} << 63;
const double not_a_number = std::nan("");
const double negative_not_a_number = -std::nan("");

/// A runtime of one rank with an object of each type, and a second runtime, whose objects are invalid arguments. Used
/// by the main thread of a process that runs cases. Never destroyed, since cases may leave objects in use.
struct setting {
  setting();

  /// Returns whether sends, active messages, puts, gets and a barrier still work. Called after each case.
  bool works();

  // Objects that the constructor allocates.
  runtime_t rt, other;        // `other`: the second runtime
  device_t device, counting;  // the default one, and one with counters
  mr_t mr;                    // of `window`
  rmr_t rmr;
  rmr_t shared_rmr;         // of as much shared memory
  rcomp_t rcomp, reserved;  // of `counter`, and one without an object
  symmetric_t symmetric;
  matching_engine_t engine;
  packet_pool_t pool;  // in addition to the default one
  stream_t stream;
  comp_t counter, queue, handler;
  progress_thread_t thread;

  // Memory, and objects for results.
  static constexpr size_t window_size = 64;
  alignas(64) char window[window_size] = {};
  alignas(64) char buffer[4096] = {};
  alignas(64) char result[4096] = {};
  status_t status;
  net_status_t net_statuses[4];
  operation_t name;  // of an operation, for cancel()

  // Objects that are allocated for one case.
  comp_t ready_sync();
  comp_t graph_at_rest();
  comp_t graph_that_ran();
  graph_node_t node_of(comp_t graph);
  graph_node_t node_that_waits();
  template <class Handle>
  Handle fresh();
  /// A copy of a handle whose object has been freed.
  template <class Handle>
  Handle freed();
  /// An object of the second runtime.
  template <class Handle>
  Handle of_other();
  std::vector<packet_pool_t> made;
  // Registrations of `buffer`.
  mr_t mr_of_other_device();
  rmr_t rmr_of_other_device() { return get_rmr(mr_of_other_device()); }
  rmr_t rmr_of_other_runtime();
  /// The key of memory whose address is not a multiple of 8.
  rmr_t misaligned_rmr();
};

template <>
runtime_t setting::fresh();
template <>
net_context_t setting::fresh();
template <>
device_t setting::fresh();
template <>
endpoint_t setting::fresh();
template <>
packet_pool_t setting::fresh();
template <>
matching_engine_t setting::fresh();
template <>
comp_t setting::fresh();
template <>
mr_t setting::fresh();
template <>
symmetric_t setting::fresh();
template <>
stream_t setting::fresh();
template <>
progress_thread_t setting::fresh();
template <>
runtime_t setting::freed();
template <>
graph_node_t setting::freed();

inline rmr_t with_key(rmr_t rmr, uint64_t key) {
  rmr.opaque_rkey = key;
  return rmr;
}
inline void combine(const void*, const void*, void*, size_t) {}
inline void handle_status(status_t) {}
inline void handle_message(void*, int, const void*, size_t, tag_t) {}
inline status_t run_node(void*) { return status_t(errorcode_t::done); }

}  // namespace misuse
