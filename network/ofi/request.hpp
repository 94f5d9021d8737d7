// The state of a call to libfabric until its completion.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/fabric.hpp"

namespace lci::network::ofi {

/// Owned by the device from take() to give(). Its address is the context of the libfabric call.
struct request {
  /// `copy`: what the device has copied, for a post whose buffers are free when it returns: a bundle, a message or a
  /// put.
  enum class kind : uint8_t { send, put, get, recv, control, copy };

  fi_context2 space;  // some providers write here while the call is in flight; must be first
  void* context;      // of the core's operation or buffer
  std::byte* buffer;  // recv: where the message arrives
  size_t size;        // of the buffer; of a bundle: so far
  size_t delivered;   // recv: bytes of a bundle already passed to the core
  void* descriptor;   // of the buffer
  kind what;
  int peer;  // not valid for recv
  request* next_free;
  /// Returns whether the core waits for its completion.
  bool of_core() const { return what != kind::control && what != kind::copy; }

  // Of kind `copy`, and of messages with a trailer: allocated once, then reused.
  std::unique_ptr<std::byte[]> copy;
  registration copy_registration;
};

/// Thread-safe. Never frees a request: holds as many as were ever in flight at once.
class request_pool {
 public:
  /// If the pool must grow to `n` requests, first calls `grow(n)`, which may throw.
  template <class F>
  request& take(F grow) {
    std::lock_guard guard(lock_);
    if (LCI_UNLIKELY(free_ == nullptr)) {
      grow(all_.size() + 1);
      return all_.emplace_back();
    }
    request& r = *free_;
    free_ = r.next_free;
    return r;
  }
  void give(request& r) {
    std::lock_guard guard(lock_);
    r.next_free = free_;
    free_ = &r;
  }
  /// Only when no request is in use.
  template <class F>
  void for_each(F f) {
    for (request& r : all_) f(r);
  }

 private:
  spinlock lock_;
  request* free_ = nullptr;  // under lock_
  std::deque<request> all_;  // under lock_; addresses are stable
};

}  // namespace lci::network::ofi
