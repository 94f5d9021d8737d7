// Messages between processes, matched by source and key, in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/layers/armci/link.hpp"

namespace armci_layer {

/// Thread-safe. Functions throw `error` if a process that they wait for has failed.
class inbox {
 public:
  explicit inbox(link& l) : link_(l) {}

  void send(int to, uint64_t key, const void* bytes, size_t size);
  /// Receives the next message of `from` (-1: of anybody) with that key. Returns its size, of which at most `room`
  /// bytes are stored; `source` becomes who has sent it.
  size_t receive(int from, uint64_t key, void* buffer, size_t room, int* source = nullptr);

  /// A message has arrived, in receive() of the link.
  void arrived(int source, const std::byte* bytes, size_t size) noexcept;

 private:
  struct message {
    int source;
    uint64_t key;
    size_t size;
    std::unique_ptr<std::byte[]> bytes;
  };
  /// A receive that waits: the message goes to its buffer. Where it is in waiting_, nobody else has it.
  struct receiver {
    int from;
    uint64_t key;
    std::byte* buffer;
    size_t room, size = 0;
    int source = -1;
    std::atomic<bool> filled{false};
  };
  static void fill(receiver& r, int source, const std::byte* bytes, size_t size);

  link& link_;
  std::mutex mutex_;
  std::list<message> messages_;   // that nobody waits for; in the order of their arrival; under mutex_
  std::list<receiver*> waiting_;  // under mutex_
};

}  // namespace armci_layer
