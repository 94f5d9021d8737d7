// Completion objects: what LCI_comp_t names.
#pragma once

#include <lci.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include <lci.hpp>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/signal_cell.hpp"
#include "lib/layers/v1/thread_state.hpp"

namespace v1 {

/// Writes the first half of a request as two words, since a copy of the request loads words. A load that spans two
/// smaller stores can't be forwarded from the store buffer, and stalls.
LCI_ALWAYS_INLINE inline void begin_request(LCI_request_t& r, LCI_error_t flag, int rank, LCI_tag_t tag,
                                            LCI_data_type_t type) {
  static_assert(offsetof(LCI_request_t, flag) == 0 && offsetof(LCI_request_t, rank) == 4 &&
                offsetof(LCI_request_t, tag) == 8 && offsetof(LCI_request_t, type) == 12);
  const uint64_t first = static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32 | static_cast<uint32_t>(flag);
  const uint64_t second = static_cast<uint64_t>(type) << 32 | tag;
  std::memcpy(static_cast<void*>(&r), &first, sizeof first);
  std::memcpy(static_cast<void*>(&r.tag), &second, sizeof second);
}

class comp;

/// Translates what the core signals to requests, for one object. As completion of receives without a record of their
/// own (`arrives` false), or as the object's remote completion handle.
class comp_port final : public lci::comp_impl_t {
 public:
  comp_port(comp& owner, bool arrives) : owner_(owner), arrives_(arrives) { attr.am_in_place = arrives; }
  void signal(lci::status_t status) override;

 private:
  LCI_NOINLINE void signal_otherwise(lci::status_t status);

  comp& owner_;
  const bool arrives_;
};

/// A queue, a synchronizer, a handler, or the object that stands for NULL and ignores what it gets. The table of
/// completion objects owns it. deliver() may be called by any threads at a time. What each message uses comes last,
/// next to the value of a synchronizer, in few cache lines.
class alignas(lci::cache_line) comp {
 public:
  enum class kind : uint8_t { none, queue, sync, handler, freed };

  comp(kind k, LCI_device_t d) : device(d), what(k) {}
  virtual ~comp() = default;
  comp(const comp&) = delete;
  comp& operator=(const comp&) = delete;

  /// Delivers a request. Signals the calling thread's bell, if that thread is waiting and makes progress meanwhile.
  void deliver(const LCI_request_t& request) {
    take(request);
    ring(my_state());
  }
  /// The same for the completion of an operation that this process has posted, inline for single synchronizers.
  template <class Write>
  void deliver_end(const thread_state& mine, Write write);
  /// Follows a call of `function`.
  static void ring(const thread_state& mine) {
    if (LCI_UNLIKELY(mine.bell != nullptr)) mine.bell->signal({});
  }

  /// Returns whether it is a synchronizer that fires after one request.
  bool is_single_sync() const { return LCI_LIKELY(shape_ == shape::single_sync); }
  /// deliver_end() without calls. Returns false, without effect, unless the object is an empty synchronizer that no
  /// thread waits for.
  template <class Write>
  bool try_deliver_end(Write write);

  const LCI_device_t device;               ///< null if it was created without one
  const LCI_handler_t function = nullptr;  ///< of a handler; else null
  comp_port remote{*this, true};
  comp_port local{*this, false};
  uintptr_t handle = 0;  ///< the core's remote completion handle, which is also the value of LCI_comp_t
  const kind what;

 protected:
  /// The derived classes to which requests are delivered without a virtual call.
  enum class shape : uint8_t { other, single_sync };
  comp(kind k, shape s, LCI_device_t d) : device(d), what(k), shape_(s) {}
  comp(LCI_handler_t f, LCI_device_t d) : device(d), function(f), what(kind::handler) {}

 private:
  virtual void take(const LCI_request_t& request) = 0;

  const shape shape_ = shape::other;
};

class handler final : public comp {
 public:
  handler(LCI_device_t device, LCI_handler_t f) : comp(f, device) {}

 private:
  void take(const LCI_request_t& request) override { function(request); }
};

/// A synchronizer of any threshold. A thread that has observed its completion may free it at once.
class synchronizer : public comp {
 public:
  bool is_single() const { return single_; }

 protected:
  synchronizer(LCI_device_t device, bool single)
      : comp(kind::sync, single ? shape::single_sync : shape::other, device), single_(single) {}

 private:
  const bool single_;
};

class single_sync final : public synchronizer {
 public:
  explicit single_sync(LCI_device_t device) : synchronizer(device, true) {}
  lci::signal_cell<LCI_request_t> cell;

 private:
  void take(const LCI_request_t& request) override { cell.put(request); }
};

template <class Write>
LCI_ALWAYS_INLINE inline bool comp::try_deliver_end(Write write) {
  return is_single_sync() && static_cast<single_sync*>(this)->cell.try_put_by(write);
}

template <class Write>
LCI_ALWAYS_INLINE inline void comp::deliver_end(const thread_state& mine, Write write) {
  if (shape_ == shape::single_sync) {
    static_cast<single_sync*>(this)->cell.put_by(write);
  } else {
    LCI_request_t request;
    write(request);
    take(request);
  }
  ring(mine);
}

/// All objects, by the index in their handles. An object whose handle is not the one that was asked for, or the `freed`
/// one in its place, means that the program's handle is none, or none any more. Thread-safe; find() takes no lock.
class comp_table {
 public:
  comp_table();
  ~comp_table();

  /// The object; for NULL one that ignores what it gets, and one of kind `freed` if the handle is invalid.
  comp& find(const void* handle) const {
    comp* c = find_live(handle);
    return LCI_LIKELY(c != nullptr) ? *c : handle == nullptr ? *none_ : *freed_;
  }
  /// The object if it can be signalled; null if the handle is NULL or invalid.
  comp* find_live(const void* handle) const {
    comp* c = objects_.get_wrapped(reinterpret_cast<uintptr_t>(handle) & index_mask);
    return LCI_LIKELY(c->handle == reinterpret_cast<uintptr_t>(handle)) ? c : nullptr;
  }
  /// Registers the object, which the table owns from then on, as remote completion. Returns its handle.
  LCI_comp_t add(comp* object);
  /// Ends the registration of the object, and frees it. In the checking mode an object remains in its memory until
  /// clear(), which reports communications that complete with it.
  void remove(comp& object);
  /// Removes all objects.
  void clear();

 private:
  static constexpr uintptr_t index_mask = (1u << 24) - 1;  // see rcomp_t

  comp* const freed_;
  comp* const none_;  // of the handle NULL
  lci::mpmc_array<comp*> objects_;
  std::mutex mutex_;
  std::vector<comp*> remains_;  // under mutex_
};

}  // namespace v1
