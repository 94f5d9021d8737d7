// What the device remembers of a call to libfabric until its completion.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "network/fabric.hpp"

namespace lci::network::ofi {

/// Belongs to the device from take() to give(). libfabric gets its address as the call's context.
struct request {
  enum class kind : uint8_t { send, put, get, recv, control, bundle };

  fi_context2 space;  // some providers write here while the call is under way; first
  void* context;      // of the core's operation or buffer
  std::byte* buffer;  // recv: where the message arrives
  size_t size;         // of the buffer; of a bundle, so far
  size_t told;         // recv: bytes of a bundle whose messages the core has seen
  void* descriptor;   // of the buffer
  kind what;
  int peer;           // not of recv
  request* next_free;
  /// Whether the core waits for its end.
  bool of_core() const { return what != kind::control && what != kind::bundle; }

  // Of a bundle, and where messages have a trailer: made once, and kept for the next message.
  std::unique_ptr<std::byte[]> copy;
  registration copy_registration;
};

/// Thread-safe. Keeps all that it ever made: as many as were once under way.
class request_pool {
 public:
  request& take() {
    std::lock_guard guard(lock_);
    if (free_ == nullptr) return all_.emplace_back();
    request& r = *free_;
    free_ = r.next_free;
    return r;
  }
  void give(request& r) {
    std::lock_guard guard(lock_);
    r.next_free = free_;
    free_ = &r;
  }
  /// When none is in use any more.
  template <class F>
  void for_each(F f) {
    for (request& r : all_) f(r);
  }

 private:
  spinlock lock_;
  request* free_ = nullptr;   // under lock_
  std::deque<request> all_;   // under lock_; they stay where they are
};

}  // namespace lci::network::ofi
