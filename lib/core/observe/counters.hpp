// Message and byte counts by kind and peer, of devices with counters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/counters.hpp"

namespace lci::core {

enum class counted : uint8_t {
  am_sent,
  am_received,
  send_sent,
  send_received,
  rendezvous_sent,
  rendezvous_received,
  rendezvous_in_fragments,
  signal_sent,
  signal_received,
  recv,
  put,
  get,
  copied_by_vectors,
  atomic,
  retry,
  busy_send,
  busy_recv,
  busy_poll,
  no_memory,
  count
};

/// The counts of one device. Owned by the device's observer. Thread-safe. Accesses are relaxed: a reader that knows of
/// a message through other synchronization sees it counted, and no other data is read because of a count.
class counters {
 public:
  explicit counters(int n_ranks) : rows_(static_cast<size_t>(n_ranks) + 1) {}

  /// A negative `peer` (a receive from any rank) counts only in the total.
  void add(counted what, int peer, uint64_t bytes) {
    const size_t at = peer < 0 ? rows_.size() - 1 : static_cast<size_t>(peer);
    cell& c = rows_[at].cells[static_cast<size_t>(what)];
    c.messages.fetch_add(1, std::memory_order_relaxed);
    c.bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// Counts of `peer`, or the total if that is negative.
  counters_t read(int peer) const;

 private:
  struct cell {
    std::atomic<uint64_t> messages{0}, bytes{0};
  };
  struct row {
    cell cells[static_cast<size_t>(counted::count)];
  };
  void add_row(counters_t& to, const row& from) const;

  std::vector<row> rows_;  // by rank; the last one counts what belongs to no peer
};

}  // namespace lci::core
