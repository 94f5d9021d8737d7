// A device's counters, as returned by get_counters() and get_histogram().
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci {

/// A number of messages, and the sum of their payloads in bytes.
struct count_t {
  uint64_t messages = 0;
  uint64_t bytes = 0;
};

/// A device's communication with one rank, or with all, since the device was allocated. A message counted
/// as `sent` at one end is counted as `received` at the other when it has arrived. Includes
/// traffic of the library itself: collectives are sends and receives.
struct counters_t {
  count_t am_sent, am_received;                  ///< active messages of any size, with all their bytes
  count_t send_sent, send_received;              ///< sends, also raw ones; counted on arrival, matched or not
  count_t rendezvous_sent, rendezvous_received;  ///< those of both kinds that used the rendezvous protocol
  /// Those received in fragments that sender and receiver copy, and not by remote access. Started ones are counted.
  count_t rendezvous_in_fragments;
  count_t signal_sent, signal_received;  ///< of puts and gets; bytes: those of the put or get
  count_t recv;  ///< receives posted; bytes: of their buffers; per rank only those that name a rank
  count_t put;   ///< puts posted to the rank; the target does not count them
  count_t get;   ///< gets posted to the rank; the target does not count them
  /// Those puts and gets that were copied by loads and stores of vectors (attribute `copy_way`).
  count_t copied_by_vectors;
  count_t atomic;  ///< atomic operations posted to the rank; the target does not count them
  count_t retry;   ///< posts that returned retry; bytes: those that they would have moved
  // Calls into the network that failed at once because another thread held its lock. Counted per rank only for
  // `busy_send`.
  count_t busy_send;  ///< sends, puts and gets, of posts or of the library itself; bytes: of sends
  count_t busy_recv;  ///< posts of receive buffers
  count_t busy_poll;  ///< polls
  /// Messages from the rank that were dropped because there was no memory for them.
  count_t no_memory;
  // The next three concern the rings of shared memory, and are counted for all ranks together only.
  count_t lines_written;     ///< polls that wrote to lines after reading them (attribute `shm_write_lines`)
  count_t lines_prefetched;  ///< messages after which lines were prefetched (attribute `shm_prefetch_lines`)
  count_t long_pauses;       ///< long pauses of receivers (attribute `shm_long_pauses`); bytes: read before them
};

/// Latencies of operations of one kind and size class: from the start of the post to its return if it returned
/// `done`, else to the signal of the completion object. Includes only operations that ended `done`.
struct histogram_t {
  static constexpr size_t n_buckets = 40;
  uint64_t counts[n_buckets] = {};   ///< operations of 2^i to 2^(i+1) ns; the first also less, the last also more
  uint64_t operations = 0;           ///< number of operations
  uint64_t total_ns = 0;             ///< sum of their latencies
  size_t smallest = 0, largest = 0;  ///< bounds of the size class in bytes, inclusive

  double mean_ns() const {
    return operations == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(operations);
  }
  /// A time that this share (0 to 1) of the operations did not exceed: the end of a bucket. 0 without operations.
  uint64_t quantile_ns(double share) const {
    uint64_t so_far = 0;
    for (size_t i = 0; i < n_buckets; ++i) {
      so_far += counts[i];
      if (so_far > 0 && static_cast<double>(so_far) >= share * static_cast<double>(operations)) return uint64_t{2} << i;
    }
    return 0;
  }
};

}  // namespace lci
