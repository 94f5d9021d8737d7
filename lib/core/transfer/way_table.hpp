// The choice of a way for each rendezvous of a device, from how long earlier ones took.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/core/operation/operation.hpp"
#include "lib/core/transfer/per_rank.hpp"
#include "lib/core/transfer/way_estimates.hpp"

namespace lci::core {

/// The estimates of a device: for each rank, for each class of messages. A class is a power of two of the size, whether
/// the payload's memory was allocated for the message, and whether the message came alone or in a stream of others.
///
/// The time of a message in a stream is that since the end of the one before, so several outstanding ones count as if
/// they came one after the other. That of a message alone begins at its own start at the earliest. A message in a
/// stream does not count if the one before it took another way: both ways' messages were under way at the same time.
///
/// Owned by a device. Thread-safe. The estimates for a rank are allocated when it sends its first large message; if the
/// allocation fails, its messages take the usual way.
class way_table {
 public:
  explicit way_table(int n_ranks) : peers_(n_ranks) {}

  /// The way for a receive of `op->total` bytes from rank op->status.rank, which begins now. `usual`, `possible`: see
  /// way_estimates::choose().
  way choose(operation* op, bool alone, way usual, way_set possible);
  /// The message has arrived by this way.
  void ended(const operation* op, way used);
  /// A message has arrived for which choose() was not called. `rank` may be a peer outside of the job, which has no
  /// estimates: then it does nothing.
  void ended_untimed(int rank, way used);

 private:
  // By the number of bits of the size - 1: messages of up to 8 KiB are one class, those above 1 MiB another.
  static constexpr int smallest_bits = 13, n_sizes = 9;

  struct peer {
    std::atomic<uint32_t> last_end{0};  // short_ticks() at the end of the latest message
    std::atomic<way> last_way{way::read};
    way_estimates of[2][2][n_sizes];  // by `allocated`, `alone` and size
  };

  static way_estimates& of(peer& p, bool allocated, bool alone, size_t size);

  per_rank<peer> peers_;
};

}  // namespace lci::core
