// What one thread of the benchmark owns: its end of a pair, and how arrivals are told to it.
//
// A pair has a sender and a receiver. On two ranks rank 0's threads are the senders and rank 1's
// the receivers; on one rank the process has both. Both ranks register the same completion objects
// in the same order, so that a handle means the same thing at either side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <lci.hpp>
#include <vector>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/options.hpp"
#include "bench/lci_perf/page_buffer.hpp"

namespace lci_perf {

/// Synchronizers of a seat. Messages go to them by turns, a batch each, so that none is signalled
/// again before its batch has been taken.
constexpr int syncs_per_seat = 4;

/// One end of a pair. The first part is written by whoever runs the handlers.
struct alignas(128) seat {
  std::atomic<uint64_t> arrived{0};  ///< messages told to the handler
  std::atomic<uint64_t> acked{0};    ///< messages the receiver has acknowledged

  alignas(128) lci::device_t device;
  int index = 0;         ///< number of the pair; also the tag of its messages
  int partner_rank = 0;  ///< where the other end is
  lci::comp_t on_recv;   ///< handler for receives; their user_context is the seat
  lci::comp_t cq;
  lci::comp_t syncs[syncs_per_seat];
  lci::comp_t local;           ///< counter: sends that were posted, not done at once
  int64_t local_expected = 0;  ///< what the counter will come to
  uint64_t seen = 0;           ///< of `arrived`, what has been taken
  page_buffer out, in;
  // Handles of the partner's objects.
  lci::rcomp_t to_partner_handler = 0, to_partner_cq = 0, to_partner_syncs[syncs_per_seat] = {};
  lci::rcomp_t ack_handler = 0;

  /// Makes progress; gives the core away now and then if there was nothing to do.
  void progress() {
    if (lci::progress_x().device(device)().is_retry()) waiter_.idle();
  }
  /// More threads than cores.
  void set_crowded(bool v) { waiter_ = waiter(v); }

  /// Waits until all sends are locally complete.
  void drain() {
    while (lci::counter_get(local) < local_expected) progress();
  }

 private:
  waiter waiter_{false};
};

/// Messages of one round, for each pair.
struct job {
  uint64_t count = 0;
  uint64_t size = 0;
  uint64_t batch = 1;   ///< messages a synchronizer waits for, and between acknowledgements
  uint64_t window = 1;  ///< messages in flight
};

/// Reads a byte a cache line of a message: what arrives in place would not move otherwise.
inline void read_through(const void* data, size_t size) {
  const auto* p = static_cast<const volatile unsigned char*>(data);
  for (size_t i = 0; i < size; i += 64) (void)p[i];
}

/// How a payload of an active message is given back.
enum class payload_kind { freed, packet };

/// Takes arrivals out of a seat, whatever tells of them.
template <comp_kind C>
class inbox {
 public:
  inbox(seat& s, const job& j, payload_kind payload) : seat_(s), job_(j), payload_(payload) {
    if constexpr (C == comp_kind::sync) statuses_.resize(j.batch);
  }

  /// Messages that have arrived since the last call. `am`: the payloads are ours to give back.
  uint64_t take(bool am) {
    if constexpr (C == comp_kind::handler) {
      const uint64_t now = seat_.arrived.load(std::memory_order_acquire);  // S1: pairs with S2
      const uint64_t n = now - seat_.seen;
      seat_.seen = now;
      return n;
    } else if constexpr (C == comp_kind::cq) {
      uint64_t n = 0;
      while (true) {
        const lci::status_t status = lci::cq_pop(seat_.cq);
        if (status.is_retry()) return n;
        if (am) give_back(status);
        ++n;
      }
    } else {
      if (!lci::sync_test(seat_.syncs[turn_ % syncs_per_seat], statuses_.data())) return 0;
      ++turn_;
      if (am) {
        for (const lci::status_t& status : statuses_) give_back(status);
      }
      return statuses_.size();
    }
  }

  /// Waits for one message and takes it. Not for batches.
  void wait_one(bool am) {
    while (take(am) == 0) seat_.progress();
  }

 private:
  void give_back(const lci::status_t& status) {
    read_through(status.buffer, status.size);
    if (payload_ == payload_kind::packet) {
      lci::put_upacket(status.buffer);
    } else {
      std::free(status.buffer);
    }
  }

  seat& seat_;
  const job& job_;
  const payload_kind payload_;
  uint64_t turn_ = 0;
  std::vector<lci::status_t> statuses_;
};

/// Where message `k` of a round goes, as an active message.
template <comp_kind C>
inline lci::rcomp_t target_of(const seat& s, const job& j, uint64_t k) {
  if constexpr (C == comp_kind::handler) return s.to_partner_handler;
  if constexpr (C == comp_kind::cq) return s.to_partner_cq;
  return s.to_partner_syncs[k / j.batch % syncs_per_seat];
}

/// What tells of receive `k` of a round.
template <comp_kind C>
inline lci::comp_t comp_of_recv(const seat& s, const job& j, uint64_t k) {
  if constexpr (C == comp_kind::handler) return s.on_recv;
  if constexpr (C == comp_kind::cq) return s.cq;
  return s.syncs[k / j.batch % syncs_per_seat];
}

/// Sends message `k` of a round as an active message, however often it takes.
template <comp_kind C>
inline void post_one_am(seat& s, const job& j, uint64_t k) {
  while (true) {
    const lci::status_t status =
        lci::post_am_x(s.partner_rank, s.out.get(), j.size, s.local, target_of<C>(s, j, k))
            .device(s.device)
            .tag(static_cast<lci::tag_t>(s.index))();
    if (__builtin_expect(status.is_done(), 1)) return;
    if (status.is_posted()) {
      ++s.local_expected;
      return;
    }
    s.progress();
  }
}

inline void post_one_send(seat& s, const job& j, lci::tag_t tag) {
  while (true) {
    const lci::status_t status =
        lci::post_send_x(s.partner_rank, s.out.get(), j.size, tag, s.local).device(s.device)();
    if (__builtin_expect(status.is_done(), 1)) return;
    if (status.is_posted()) {
      ++s.local_expected;
      return;
    }
    s.progress();
  }
}

/// Posts receive `k` of a round; its completion always comes through the completion object.
template <comp_kind C>
inline void post_one_recv(seat& s, const job& j, uint64_t k, lci::tag_t tag) {
  while (lci::post_recv_x(s.partner_rank, s.in.get(), j.size, tag, comp_of_recv<C>(s, j, k))
             .device(s.device)
             .allow_done(false)
             .user_context(&s)()
             .is_retry()) {
    s.progress();
  }
}

}  // namespace lci_perf
