// Messages between processes, matched by source and key, in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/layers/armci/groups.hpp"
#include "lib/layers/armci/link.hpp"

namespace armci_layer {

/// Thread-safe. Functions throw `error` if a process that they wait for has failed.
class inbox {
 public:
  explicit inbox(link& l) : link_(l) {}

  /// The key of a collective operation: a group's, and a number below 7. With 7, a message says that a member has
  /// failed whose rank it contains.
  static constexpr uint64_t key_of(uint64_t group, uint64_t number) { return group << 3 | number | uint64_t{1} << 63; }
  static constexpr uint64_t is_broken = 7;

  void send(int to, uint64_t key, const void* bytes, size_t size);
  /// The same for a collective operation of a group. If the target has failed, tells the other members.
  void send_of_group(const group& g, int to, uint64_t key, const void* bytes, size_t size);
  /// Receives the next message of `from` (-1: of anybody) with that key. Returns its size, of which at most `room`
  /// bytes are stored; `source` becomes who has sent it.
  size_t receive(int from, uint64_t key, void* buffer, size_t room, int* source = nullptr);
  /// The same for a collective operation of a group. If a member that this process waits for has failed, it tells the
  /// other ones, which may wait for this one. Also throws if one of them has told it.
  void receive_of_group(const group& g, int from, uint64_t key, void* buffer, size_t room);

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
  /// Returns the member that has failed according to a message of another one; -1 if no message says so.
  int failed_member(const group& g);
  void tell_of_failure(const group& g, int failed) noexcept;
  /// Fills `mine` by a message that has arrived, or puts it into waiting_.
  void take_or_wait(receiver& mine);
  /// Returns false if `mine` is not filled; then no message will fill it.
  bool stop_waiting(receiver& mine);
  static void fill(receiver& r, int source, const std::byte* bytes, size_t size);

  link& link_;
  std::mutex mutex_;
  std::list<message> messages_;   // that nobody waits for; in the order of their arrival; under mutex_
  std::list<receiver*> waiting_;  // under mutex_
  std::atomic<bool> any_broken_{false};
};

}  // namespace armci_layer
