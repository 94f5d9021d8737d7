// Control messages: all messages that are not batches of k-mers.
#pragma once

#include <cstdint>

namespace kmer_count {

enum class control_kind : uint32_t {
  totals,    // value: batches sent to the receiver in this traversal
  ready,     // the sender will get no more batches in this traversal
  bins,      // body: part of the sender's histogram
  report,    // body: the sender's rank_summary; value: how many messages with bins it has sent
  finished,  // the sender needs no further messages
};

/// Precedes the body, if there is one.
struct control {
  control_kind kind = control_kind::finished;
  uint32_t traversal = 0;
  uint64_t value = 0;
};

}  // namespace kmer_count
