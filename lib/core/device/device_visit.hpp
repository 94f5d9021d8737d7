// Uses of devices that the caller does not own, and of the unexpected messages that came through them.
#pragma once

#include <cstdlib>

#include "lib/core/device/device.hpp"
#include "lib/core/match/unexpected.hpp"

namespace lci::core {

/// The device of a uid, which another thread may free: that thread waits until the visit has ended. Used by one thread.
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

/// Frees a message that was counted by the device that it came through; null if that was freed.
inline void free_unexpected(device* via, unexpected* u) {
  if (LCI_LIKELY(via != nullptr)) via->flow.discount(u->peer, u->memory());
  std::free(u);
}

}  // namespace lci::core
