// What the functions of the interface share: checks of their arguments, and the two names of each.
#pragma once

#include <string>

#include "armci/armci.h"
#include "lib/layers/armci/context.hpp"
#include "lib/layers/armci/errors.hpp"

/// ARMCI_<name> is a weak second name of PARMCI_<name>, so that a program may have a function of its own that is called
/// ARMCI_<name> and calls PARMCI_<name>.
#define ARMCI_TWIN(name) \
  decltype(PARMCI_##name) ARMCI_##name __attribute__((weak, alias("PARMCI_" #name), visibility("default")))

namespace armci_layer {

/// Ends the job outside of ARMCI_Init and ARMCI_Finalize.
inline context& running(const char* function) {
  if (LCI_UNLIKELY(the_context == nullptr)) misuse(function, "ARMCI is not running: call ARMCI_Init first");
  return *the_context;
}
/// For functions that return a code: throws `error`.
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
};
/// False if there is nothing to do. Throws `error` with the codes of the interface.
bool check(const context& c, const strided_arguments& a, addition what);
/// Likewise for lists of segments.
void check(const context& c, const armci_giov_t* list, int n, int proc, addition what);
/// Ends the job if the type is unknown; throws `error` if there is no scale.
void check_addition(const char* function, addition what);

// Transfers with checked arguments. `state`: what a get adds to; null: the process's only.
void put(context& c, const strided_arguments& a, addition what);
void get(context& c, const strided_arguments& a, request_state* state);
void put(context& c, const armci_giov_t* list, int n, int proc, addition what);
void get(context& c, const armci_giov_t* list, int n, int proc, request_state* state);

/// Where the operations of a handle of the program's are counted; null for the implicit one, and for operations that
/// need none since they are complete when they return.
inline request_state* begin_request(context& c, armci_hdl_t* handle, int proc) {
  if (handle == nullptr) return nullptr;
  if (!c.mem.is_near(proc)) return &c.handles.begin(handle);
  if (!c.handles.is_aggregate(*handle)) *handle = 0;
  return nullptr;
}
/// f(state) begins gets from `proc`; returns when they are complete.
template <class F>
void blocking_get(context& c, int proc, F&& f) {
  request_state state;
  try {
    f(&state);
  } catch (...) {
    // What has begun writes the state when it ends.
    c.net.wait(-1, [&] { return state.pending.load(std::memory_order_acquire) == 0; });
    throw;
  }
  c.far.wait(state, proc);
}
/// The handle of an operation that is complete.
inline void complete(context& c, armci_hdl_t* handle) {
  if (handle != nullptr && !c.handles.is_aggregate(*handle)) *handle = 0;
}

}  // namespace armci_layer
