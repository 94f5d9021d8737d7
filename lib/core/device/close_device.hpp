// The end of a device, and of those of its peers.
#pragma once

#include <cstdint>
#include <exception>

#include "lib/base/cpu.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;

/// The first exception that handlers throw while a device is freed: a handler must not keep a device allocated, so
/// free_device() throws this one once the device is gone. Logs the others. For one thread.
class first_exception {
 public:
  LCI_COLD void keep(const std::exception_ptr& thrown) noexcept;
  /// Calls f(), and keeps what it throws.
  template <class F>
  void from(F f) noexcept {
    try {
      f();
    } catch (...) {
      keep(std::current_exception());
    }
  }
  void rethrow() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  std::exception_ptr thrown_;
};

/// Ends outstanding operations, here and at the peers, as `cancelled`, and waits until messages have been sent.
/// Stops waiting for a peer that makes no progress after attr.close_timeout.
void close_device(device& d, first_exception& thrown);
/// After close_device(): deletes the device and its endpoints, then signals the operations that never completed.
void destroy_device(device* d, first_exception& thrown);

/// A peer frees the device with which this one communicates.
LCI_COLD bool receive_device_end(device& d, int peer, wire::message& m);

}  // namespace lci::core
