// A side of a pair of benchmark threads: what one of the two owns.
//
// A pair has a sender and a receiver. With two ranks, rank 0's threads are the senders and rank 1's the receivers; with
// one rank, the process has both. All ranks register the same completion objects in the same order, so that a handle is
// valid on either side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <lci.hpp>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/options.hpp"
#include "bench/lci_perf/page_buffer.hpp"
#include "bench/lci_perf/pattern.hpp"
#include "bench/lci_perf/ticks.hpp"

namespace lci_perf {

/// Synchronizers per side. Messages are distributed round-robin, one batch each, so that no synchronizer is signalled
/// again before its batch has been taken.
constexpr int syncs_per_side = 4;

/// The buffers, completion objects and counters of one thread of a pair. Threads that run handlers write the first
/// part; the rest belongs to the side's own thread.
struct alignas(128) side {
  std::atomic<uint64_t> arrived{0};  ///< messages delivered to the handler
  std::atomic<uint64_t> acked{0};    ///< messages the partner has acknowledged
  message_check check;

  alignas(128) lci::device_t device;  ///< polled by this end
  lci::device_t to_partner;           ///< polled by the other end; two ranks: the same on both
  int index = 0;                      ///< number of the pair; also the tag of its messages
  int partner_rank = 0;               ///< rank of the other end
  int seed = 0, partner_seed = 0;     ///< of the contents of `out` and `own_memory`: see pattern.hpp
  lci::comp_t on_recv;                ///< handler for receives; their user_context is the side
  lci::comp_t cq, counter;
  lci::comp_t syncs[syncs_per_side];
  lci::comp_t local;           ///< counter: sends that returned `posted`, not `done`
  int64_t local_expected = 0;  ///< the counter's value once all sends are complete
  uint64_t seen = 0;           ///< the part of `arrived` that has been taken
  page_buffer out, in;
  lci::stream_t stream;  ///< `orderedam` only
  // For puts and gets with a signal: memory that the partner accesses, and where the partner's is.
  char* own_memory = nullptr;
  lci::rmr_t remote;
  uintptr_t remote_disp = 0;
  // Handles of the partner's objects.
  lci::rcomp_t to_partner_handler = 0;                       ///< one of the next two, by the size of messages
  lci::rcomp_t to_partner_reader = 0, to_partner_owner = 0;  ///< one reads in place, the other owns the memory
  lci::rcomp_t to_partner_cq = 0, to_partner_counter = 0, to_partner_syncs[syncs_per_side] = {}, to_partner_check = 0;
  lci::rcomp_t ack_handler = 0;
  tick_log log;  ///< times of single round trips, if enabled

  /// Makes progress; if there was nothing to do, may yield the core (see waiter).
  void progress() {
    if (lci::progress_x().device(device)().is_retry()) waiter_.idle();
  }
  /// `v`: there are more threads than cores.
  void set_crowded(bool v) { waiter_ = waiter(v); }

  /// Waits until all sends are locally complete.
  void drain() {
    while (lci::counter_get(local) < local_expected) progress();
  }

 private:
  waiter waiter_{false};
};

}  // namespace lci_perf
