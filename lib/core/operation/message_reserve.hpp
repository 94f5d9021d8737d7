// Room, allocated beforehand, for messages of the library that neither the network nor the backlog has memory for.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

/// Keeps copies of answers and requests until the network takes them. The peers wait for them, so they must not be lost
/// while there is no memory. Those of one peer may overtake each other: the library's own messages have no order. Part
/// of a backlog. Thread-safe.
class message_reserve {
 public:
  static constexpr size_t most = 1024;                                     ///< messages
  static constexpr size_t largest = sizeof(wire::framed<wire::rtr_body>);  ///< bytes of a message

  /// Throws std::bad_alloc. The memory is not touched before it is used.
  message_reserve() : entries_(new entry[most]) {}

  /// Returns false if the message is too large, or if there is no room left.
  bool keep(int peer, const void* message, size_t size) {
    if (size > largest) return false;
    std::lock_guard guard(lock_);
    if (n_ == most) return false;
    entry& e = entries_[n_++];
    e.peer = peer;
    e.size = size;
    std::memcpy(e.bytes, message, size);
    return true;
  }

  /// Calls `send(peer, bytes, size)` for the messages, and drops those for which it returns true; after false it is not
  /// called again for the next messages if they are to the same peer. Returns how many were dropped. One thread at a
  /// time. send() may call keep(), and must not throw.
  template <class F>
  size_t drain(F send) {
    size_t gone = 0;
    int refused = -1;
    for (size_t i = 0;; ++i) {
      entry e;
      {
        std::lock_guard guard(lock_);
        if (i >= n_) return gone;
        e = entries_[i];
      }
      if (e.peer == refused) continue;
      if (!send(e.peer, static_cast<const std::byte*>(e.bytes), e.size)) {
        refused = e.peer;
        continue;
      }
      ++gone;
      std::lock_guard guard(lock_);
      entries_[i--] = entries_[--n_];  // meanwhile others may only have been added
    }
  }

 private:
  struct entry {
    int peer;
    size_t size;
    alignas(size_t) std::byte bytes[largest];
  };

  const std::unique_ptr<entry[]> entries_;  // the first n_ are used; under lock_
  spinlock lock_;
  size_t n_ = 0;  // under lock_; only the thread that drains reduces it
};

}  // namespace lci::core
