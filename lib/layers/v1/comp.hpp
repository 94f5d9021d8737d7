// Completion objects: what LCI_comp_t names.
#pragma once

#include <lci.h>

#include <atomic>
#include <cstdint>

#include <lci.hpp>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/layers/v1/thread_state.hpp"

namespace v1 {

class comp;

/// Translates what the core signals to requests, for one object. As completion of receives without a record of their
/// own (`arrives` false), or as the object's remote completion handle.
class comp_port final : public lci::comp_impl_t {
 public:
  comp_port(comp& owner, bool arrives) : owner_(owner), arrives_(arrives) { attr.am_in_place = arrives; }
  void signal(lci::status_t status) override;

 private:
  comp& owner_;
  const bool arrives_;
};

/// A queue, a synchronizer, a handler, or the object that stands for NULL and ignores what it gets. The table of
/// completion objects owns it. deliver() may be called by any threads at a time.
class comp {
 public:
  enum class kind : uint8_t { none, queue, sync, handler, freed };

  comp(kind k, LCI_device_t d) : what(k), device(d) {}
  virtual ~comp() = default;
  comp(const comp&) = delete;
  comp& operator=(const comp&) = delete;

  /// Hands over a request. Rings the bell of the thread, if it is one that makes progress while it waits.
  void deliver(const LCI_request_t& request) {
    take(request);
    ring(my_state());
  }
  /// The same, by the thread with this state.
  void deliver(const LCI_request_t& request, const thread_state& mine) {
    take(request);
    ring(mine);
  }

  const kind what;
  const LCI_device_t device;  ///< null if it was created without one
  uintptr_t handle = 0;       ///< the core's remote completion handle, which is also the value of LCI_comp_t
  comp_port local{*this, false};
  comp_port remote{*this, true};

 private:
  virtual void take(const LCI_request_t& request) = 0;
  static void ring(const thread_state& mine) {
    if (LCI_UNLIKELY(mine.bell != nullptr)) mine.bell->signal({});
  }
};

/// All objects, by the index in their handles. An object whose handle is not the one that was asked for, or the `freed`
/// one in its place, means that the program's handle is none, or none any more. Thread-safe; find() takes no lock.
class comp_table {
 public:
  comp_table();
  ~comp_table();

  /// The object; one of kind `freed` for what is none.
  comp& find(const void* handle) const {
    comp* c = objects_.get_wrapped(reinterpret_cast<uintptr_t>(handle) & index_mask);
    return LCI_LIKELY(c->handle == reinterpret_cast<uintptr_t>(handle)) ? *c : *freed_;
  }
  /// Registers the object, which the table owns from then on, as remote completion. Returns its handle.
  LCI_comp_t add(comp* object);
  /// Ends the object.
  void remove(comp& object);
  /// All objects that are left.
  void clear();

 private:
  static constexpr uintptr_t index_mask = (1u << 24) - 1;  // see rcomp_t

  comp* const freed_;
  comp* const none_;  // of the handle NULL
  lci::mpmc_array<comp*> objects_;
};

}  // namespace v1
