// What a device has counted, as get_counters() and get_histogram() give it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci {

/// How many there were, and how many bytes of payload they had together.
struct count_t {
  uint64_t messages = 0;
  uint64_t bytes = 0;
};

/// A device's communication with one rank, or with all, since the device was allocated. What is
/// called `sent` at one end is `received` at the other once it has arrived there. The library's own
/// traffic counts too: collectives are sends and receives.
struct counters_t {
  count_t am_sent, am_received;      ///< active messages of any size, with all their bytes
  count_t send_sent, send_received;  ///< sends, also raw ones; received before they are matched, too
  count_t rendezvous_sent, rendezvous_received;  ///< those of both kinds that asked before they came
  count_t signal_sent, signal_received;          ///< of puts and gets; bytes: what was put or got
  count_t recv;    ///< receives posted; bytes: room of their buffers; only under its rank if it names one
  count_t put;     ///< puts posted to the rank; the target does not count them
  count_t get;     ///< gets posted to the rank; the target does not count them
  count_t atomic;  ///< atomic operations posted to the rank; the target does not count them
  count_t retry;   ///< posts that had to be repeated: they said retry; bytes: they would have moved
  // Calls into the network that gave up at once because another thread was in one: what was tried and
  // not waited for. Under no rank but for `busy_send`.
  count_t busy_send;  ///< sends, puts and gets of posts, or of the library's own; bytes: of sends
  count_t busy_recv;  ///< receive buffers offered
  count_t busy_poll;  ///< looks for what has come
  /// Messages that have come from the rank and were not delivered, because there was no memory for them.
  count_t no_memory;
};

/// How long operations of one kind and size class took: from the beginning of the post to its return, if that said
/// `done`, else to the moment at which the completion object was told. Only of those that ended `done`.
struct histogram_t {
  static constexpr size_t n_buckets = 40;
  uint64_t counts[n_buckets] = {};  ///< how many took 2^i to 2^(i+1) ns; the first also less, the last also more
  uint64_t operations = 0;          ///< all of them
  uint64_t total_ns = 0;            ///< their times added up
  size_t smallest = 0, largest = 0;  ///< bytes of the size class: from, to

  double mean_ns() const {
    return operations == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(operations);
  }
  /// A time that this share (0 to 1) of them did not exceed: the end of a bucket. 0 if there were none.
  uint64_t quantile_ns(double share) const {
    uint64_t so_far = 0;
    for (size_t i = 0; i < n_buckets; ++i) {
      so_far += counts[i];
      if (so_far > 0 && static_cast<double>(so_far) >= share * static_cast<double>(operations))
        return uint64_t{2} << i;
    }
    return 0;
  }
};

}  // namespace lci
