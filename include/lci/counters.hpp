// What a device has counted, as get_counters() gives it.
#pragma once

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
};

}  // namespace lci
