// Messages and bytes by kind and peer, for devices that count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/counters.hpp"

namespace lci::core {

enum class counted : uint8_t {
  am_sent, am_received, send_sent, send_received, rendezvous_sent, rendezvous_received,
  signal_sent, signal_received, recv, put, get, atomic, retry,
  busy_send, busy_recv, busy_poll, no_memory, count
};

/// Thread-safe. Numbers are relaxed: a reader learns of a message that it knows of through other
/// paths, and nothing else is read because of them.
class counters {
 public:
  explicit counters(int n_ranks) : rows_(static_cast<size_t>(n_ranks) + 1) {}

  /// A negative `peer` (a receive from anywhere) counts among all only.
  void add(counted what, int peer, uint64_t bytes) {
    const size_t at = peer < 0 ? rows_.size() - 1 : static_cast<size_t>(peer);
    cell& c = rows_[at].cells[static_cast<size_t>(what)];
    c.messages.fetch_add(1, std::memory_order_relaxed);
    c.bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// With `peer`, or with all if that is negative.
  counters_t read(int peer) const;

 private:
  struct cell {
    std::atomic<uint64_t> messages{0}, bytes{0};
  };
  struct row {
    cell cells[static_cast<size_t>(counted::count)];
  };
  void add_row(counters_t& to, const row& from) const;

  std::vector<row> rows_;  // by rank; the last is of nobody in particular
};

}  // namespace lci::core
