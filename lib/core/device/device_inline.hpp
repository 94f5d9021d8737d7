// The second part of device.hpp, for what needs the complete class: member templates, the thread-local state of
// progress, and unexpected messages. Only device.hpp includes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>

#include "lib/core/device/device.hpp"

namespace lci::core {

template <class Act>
bool device::visit(uint32_t handle, uint8_t awaited, int peer, Act act) {
  const auto [op, kind] = rt.operations.enter(this, handle, awaited);
  if (op == nullptr) return false;
  const bool good = op->status.rank == peer && act(op, kind);
  leave(op);
  return good;
}

template <class F>
std::exception_ptr device::end_waiting(failure how, F which) {
  std::exception_ptr thrown;
  rt.operations.enter_each(this, [&](operation_table::visit v) {
    if (which(static_cast<const operation*>(v.op)) && v.op->gate.close()) v.op->fail_as(how);
    try {
      leave(v.op);
    } catch (...) {
      if (thrown == nullptr) thrown = std::current_exception();
    }
  });
  return thrown;
}

/// Whether signal() of such an object runs the program's code. That may post, and what it throws comes from there:
/// the status has been delivered. Of other objects an exception says that the status could not be kept.
inline bool may_post(attr_comp_type_t type) {
  return type != attr_comp_type_t::cq && type != attr_comp_type_t::sync && type != attr_comp_type_t::counter;
}

/// Set while this thread is inside progress() or a handler that a post runs.
extern constinit thread_local bool tls_in_progress __attribute__((tls_model("initial-exec")));

/// Sends that this thread has posted since it made progress last.
extern constinit thread_local uint32_t tls_sends_in_a_row __attribute__((tls_model("initial-exec")));
/// After so many a post has the thread make progress, so that it hears of peers that ask for a pause, and
/// does not run away from them: at most this many times the eager limit.
constexpr uint32_t most_sends_in_a_row = 1024;

/// Marks this thread as being inside progress(), also when a handler throws.
struct inside_progress {
  inside_progress() { tls_in_progress = true; }
  ~inside_progress() { tls_in_progress = false; }
};

/// A message that came before its receive. Followed in memory by the payload of an eager one.
struct unexpected {
  int peer;
  tag_t tag;
  size_t size;       // of the whole message
  bool rendezvous;
  bool cancelled;    // its data won't come: the sender, or the device here, is gone
  int device_uid;    // where it came from, and the answer to an RTS goes
  wire::rts_body rts;  // of an eager one: `operation` only
  std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
  size_t memory() const { return sizeof(unexpected) + (rendezvous ? 0 : size); }
};
/// Frees one that was counted by the device that it came through, which may have been freed: null.
inline void free_unexpected(device* via, unexpected* u) {
  if (LCI_LIKELY(via != nullptr)) via->flow.discount(u->peer, u->memory());
  std::free(u);
}

/// The device of a uid, which may be another thread's to free: that waits until this has ended.
class device_visit {
 public:
  /// `own`: the device of the caller, whose user keeps it.
  device_visit(runtime& rt, int uid, device* own = nullptr)
      : device_(LCI_LIKELY(own != nullptr && own->attr.uid == uid) ? own : rt.enter_device(uid)), own_(own) {}
  ~device_visit() {
    if (LCI_UNLIKELY(device_ != own_) && device_ != nullptr) device_->visitors.fetch_sub(1, std::memory_order_release);
  }
  device_visit(const device_visit&) = delete;
  device_visit& operator=(const device_visit&) = delete;

  device* get() const { return device_; }  // null: it has been freed

 private:
  device* const device_;
  device* const own_;
};

}  // namespace lci::core
