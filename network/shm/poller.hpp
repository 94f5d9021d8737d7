// What a thread remembers of its polls of a device that several threads poll.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci::network::shm {

class in_lane;

/// One for each thread that polls the device, which owns it. Read and written by that thread only, so polls of several
/// threads write no line in common. The fields are atomic, without order, because threads beyond max_thread_index, and
/// those that had no memory for a poller, use the same one.
struct alignas(cache_line) poller {
  std::atomic<uint32_t> idle_polls{0};
  std::atomic<uint32_t> turn{0};              // of the lanes that not every poll visits, the one to visit next
  std::atomic<uint32_t> polls_since_sort{0};  // of many lanes: see device::move_silent_back()
  std::atomic<uint32_t> reported{0};          // the device's count of empty polls when this thread last looked at it

  // Own messages that are left to other threads: see docs/decisions/0029.
  std::atomic<in_lane*> left{nullptr};     // the thread's lane to its own rank, which polls skip; null: they skip none
  std::atomic<uint32_t> polls_to_look{0};  // polls until the next look at `left`
  std::atomic<uint32_t> looks{0};          // in a row that have found the same message
  std::atomic<uint64_t> left_at{0};        // slots of `left` that were consumed at the last look
  // The thread's lane to its own rank once a message was found there, and the slots of that lane that were consumed when
  // the thread itself last took messages from it.
  std::atomic<const in_lane*> own{nullptr};
  std::atomic<uint64_t> taken_to{0};
};

}  // namespace lci::network::shm
