// Helpers of the interface's functions: checks of arguments, and their second names.
#pragma once

#include <string>

#include "armci/armci.h"
#include "lib/layers/armci/context.hpp"
#include "lib/layers/armci/errors.hpp"

/// Defines ARMCI_<name> as a weak alias of PARMCI_<name>, so that a profiling library can define ARMCI_<name> and call
/// PARMCI_<name>.
#define ARMCI_TWIN(name) \
  decltype(PARMCI_##name) ARMCI_##name __attribute__((weak, alias("PARMCI_" #name), visibility("default")))

namespace armci_layer {

/// The context. Ends the job if ARMCI is not initialized.
inline context& running(const char* function) {
  if (LCI_UNLIKELY(the_context == nullptr)) misuse(function, "ARMCI is not running: call ARMCI_Init first");
  return *the_context;
}
/// The same for functions that return a code: throws `error`.
[[noreturn, gnu::cold]] void throw_not_running();
inline context& running() {
  if (LCI_UNLIKELY(the_context == nullptr)) throw_not_running();
  return *the_context;
}

[[noreturn, gnu::cold]] void throw_bad_proc(int proc, int n);
inline void check_proc(const context& c, int proc) {
  if (LCI_UNLIKELY(static_cast<unsigned>(proc) >= static_cast<unsigned>(c.size()))) throw_bad_proc(proc, c.size());
}
/// The same for functions without a result.
void check_proc(const char* function, const context& c, int proc);

/// A group that this process is a member of; ends the job for others.
const group& member_of(const char* function, context& c, const ARMCI_Group* g);

/// Arguments of a transfer between strided arrays.
struct strided_arguments {
  void* src;
  const int* src_strides;
  void* dst;
  const int* dst_strides;
  const int* counts;
  int levels;
  int proc;
  bool is_contiguous = false;  ///< the caller's size is an argument `bytes`, not an array `count`
};
/// Checks levels, strides and counts. Returns false if there are no bytes. Throws `error` with the interface's codes.
bool check_shape(const strided_arguments& a);
/// Checks arguments. Returns false if the transfer is empty. Throws `error` with the interface's codes.
bool check(const context& c, const strided_arguments& a, addition what);
/// Likewise for lists of segments.
void check(const context& c, const armci_giov_t* list, int n, int proc, addition what);
/// Ends the job if the type is unknown; throws `error` if there is no scale.
void check_addition(const char* function, addition what);

// Transfers with checked arguments. `state`: the request to which a get belongs; null if it has no handle.
void put(context& c, const strided_arguments& a, addition what, put_return when = {});
void get(context& c, const strided_arguments& a, request_state* state);
void put(context& c, const armci_giov_t* list, int n, int proc, addition what, put_return when = {});
void get(context& c, const armci_giov_t* list, int n, int proc, request_state* state);

/// Begins a request for a handle of the program. There is none for the implicit handle, and for operations on memory
/// that this process has mapped, which are complete when they return. Waits while too many requests are under way.
inline handle_table::holder begin_request(context& c, armci_hdl_t* handle, int proc) {
  handle_table::holder request;
  if (handle == nullptr) return request;
  if (c.mem.is_near(proc)) {
    if (!c.handles.is_aggregate(*handle)) *handle = 0;
    return request;
  }
  request = c.handles.begin(handle);
  if (LCI_UNLIKELY(!request)) c.net.wait(-1, [&] { return static_cast<bool>(request = c.handles.begin(handle)); });
  return request;
}
/// Calls f(state), which starts gets from or puts to `proc`, and returns when they are complete.
template <class F>
void blocking(context& c, int proc, F&& f) {
  request_state state;
  try {
    f(&state);
  } catch (...) {
    // Transfers that f has started still write to `state`, so wait for them.
    c.net.wait(-1, [&] { return state.pending.load(std::memory_order_acquire) == 0; });
    throw;
  }
  c.far.wait(state, proc);
}
/// Marks the handle of an operation that is already complete.
inline void complete(context& c, armci_hdl_t* handle) {
  if (handle != nullptr && !c.handles.is_aggregate(*handle)) *handle = 0;
}
/// Calls f(when), which puts up to `largest` contiguous bytes to `proc` at a time, for a non-blocking put.
template <class F>
void non_blocking_put(context& c, armci_hdl_t* handle, int proc, size_t largest, F&& f) {
  if (c.mem.is_near(proc) || !c.far.may_return_early(largest)) {
    f(put_return{});
    complete(c, handle);
  } else {
    f(put_return{true, begin_request(c, handle, proc).state()});
  }
}

}  // namespace armci_layer
