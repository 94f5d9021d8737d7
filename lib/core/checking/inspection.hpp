// Inspects the arguments of calls: in forked children, and in programs that ask for checks (LCI_ATTR_CHECK). The
// functions that use this are generated, one per operation (codegen/templates/resolve.cpp.j2).
#pragma once

#include <cstdint>
#include <string>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"

namespace lci::core {

class runtime;

[[noreturn]] LCI_COLD void refuse_after_fork(const char* operation);

/// What operations that free an object do in a forked child: they only make the handle empty.
template <class Handle>
void leave_alone(Handle* handle) {
  if (handle != nullptr) *handle = Handle();
}

/// Inspects the arguments of one call, one after the other. Throws invalid_argument_error at the first invalid one.
/// Used by the calling thread only.
class call_inspection {
 public:
  /// Throws in a forked child.
  explicit call_inspection(const char* operation);
  /// Returns whether arguments are inspected.
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
  /// To be called last: a call without a runtime or device uses the default runtime, and so must all its objects.
  void default_runtime_serves();
  /// Compares a collective call with those of other ranks; `what` describes it, with its sizes.
  void collective(runtime_t given, device_t device, const std::string& what);

 private:
  /// Throws if the object was freed. False for an empty handle and for constants.
  bool alive(const char* argument, const void* object);
  void belongs(const char* argument, const runtime* to);

  const char* operation_;
  bool thorough_;
  bool anchored_ = false;             // a runtime or device was passed
  const runtime* owner_ = nullptr;    // of all objects inspected
  const char* owner_name_ = nullptr;  // the argument that owner_ is from
  device_t device_;
};

/// Records an object that `operation` has allocated, with the call stack from `caller` on if calls are checked.
LCI_COLD void note_allocated(const void* object, const char* operation, const char* name, runtime_t of,
                             const void* caller);
/// Throws invalid_argument_error for an object that is not alive, such as one freed through a copy of its handle. Only
/// for types whose objects are always recorded.
LCI_COLD void require_alive(const char* operation, const char* argument, const void* object);
/// Logs each object of a runtime that ends which has not been freed.
LCI_COLD void report_leaks(const runtime& of);

}  // namespace lci::core
