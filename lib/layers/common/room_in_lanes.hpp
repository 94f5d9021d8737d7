// Makes the lanes of shared memory large enough for the packets of a layer.
#pragma once

#include <cstddef>
#include <mutex>

#include "lci.hpp"

namespace layers {

/// While an object exists, the default of the attribute `shm_lane_data_size` is at least four packets of `packet_size`
/// bytes: with less, shared memory refuses such packets, and the layer could not start. The layer sets the process's
/// default because a runtime that is being allocated takes its network's attributes from there only. Several objects
/// may exist, as ranks that are threads of one process start a layer at the same time. The last one restores the
/// default. Thread-safe.
class room_in_lanes {
 public:
  explicit room_in_lanes(size_t packet_size) {
    std::lock_guard guard(mutex_);
    const size_t now = lci::get_g_default_attr().shm_lane_data_size;
    if (n_users_ == 0) before_ = now;
    if (now < 4 * packet_size) set(4 * packet_size);
    ++n_users_;
  }
  ~room_in_lanes() {
    std::lock_guard guard(mutex_);
    if (--n_users_ > 0) return;
    try {
      if (lci::get_g_default_attr().shm_lane_data_size != before_) set(before_);
    } catch (...) {
      // There is no memory to copy the attributes: later runtimes have larger lanes.
    }
  }
  room_in_lanes(const room_in_lanes&) = delete;
  room_in_lanes& operator=(const room_in_lanes&) = delete;

 private:
  static void set(size_t bytes) {
    lci::global_attr_t attr = lci::get_g_default_attr();
    attr.shm_lane_data_size = bytes;
    lci::set_g_default_attr(attr);
  }

  inline static std::mutex mutex_;
  inline static int n_users_ = 0;    // under mutex_
  inline static size_t before_ = 0;  // under mutex_
};

}  // namespace layers
