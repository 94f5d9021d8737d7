// A call is looked at before it is made: in a forked child, and in programs that ask for checks. The
// functions that use this are generated, one an operation (codegen/templates/resolve.cpp.j2).
#pragma once

#include <cstdint>
#include <string>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"

namespace lci::core {

class runtime;

[[noreturn]] LCI_COLD void refuse_after_fork(const char* operation);

/// What operations that free something do in a forked child: nothing, but that the handle becomes empty.
template <class Handle>
void leave_alone(Handle* handle) {
  if (handle != nullptr) *handle = Handle();
}

/// Looks at the arguments of one call, one after the other. Throws invalid_argument_error at the first that
/// can't be.
class call_inspection {
 public:
  /// Throws in a forked child.
  explicit call_inspection(const char* operation);
  /// Whether arguments are to be looked at.
  bool thorough() const { return thorough_; }

  void look_at(const char* argument, runtime_t h);
  void look_at(const char* argument, net_context_t h);
  void look_at(const char* argument, device_t h);
  void look_at(const char* argument, endpoint_t h);
  void look_at(const char* argument, packet_pool_t h);
  void look_at(const char* argument, matching_engine_t h);
  void look_at(const char* argument, mr_t h);
  void look_at(const char* argument, stream_t h);
  void look_at(const char* argument, symmetric_t h) { alive(argument, h.p_impl); }
  void look_at(const char* argument, comp_t h) { alive(argument, h.p_impl); }
  void look_at(const char* argument, progress_thread_t h) { alive(argument, h.p_impl); }
  void look_at(const char* argument, publication_t h) { alive(argument, h.p_impl); }
  /// After all: what was left empty comes from the default runtime.
  void default_runtime_serves();
  /// All ranks are to make the same collective call; `what` says which, with its sizes.
  void collective(runtime_t given, device_t device, const std::string& what);

 private:
  /// False for an empty handle and the constants.
  bool alive(const char* argument, const void* object);
  void belongs(const char* argument, const runtime* to);

  const char* operation_;
  bool thorough_;
  bool anchored_ = false;            // a runtime or device was named
  const runtime* owner_ = nullptr;   // of all that was looked at
  const char* owner_name_ = nullptr;  // the argument that says so
  device_t device_;
};

/// Notes what an operation has allocated, if calls are checked or `always`.
LCI_COLD void note_allocated(const void* object, const char* operation, const char* name, runtime_t of,
                             const void* caller);
/// For what is freed through a copy of a handle. Of objects that are known at any time.
LCI_COLD void require_alive(const char* operation, const char* argument, const void* object);
/// Tells of what was allocated in a runtime that ends, and not freed.
LCI_COLD void report_leaks(const runtime& of);

}  // namespace lci::core
