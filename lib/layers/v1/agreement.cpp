#include "lib/layers/v1/agreement.hpp"

#include <algorithm>
#include <chrono>

#include "lib/layers/v1/thread_state.hpp"
#include "lib/layers/v1/wait.hpp"

namespace v1 {

namespace {

/// Tags of the rounds of one endpoint. A round follows the last one at all ranks, so two tags would do.
class rounds {
 public:
  explicit rounds(LCI_endpoint_s& ep) : ep_(ep), engine_(the_world().agreement) {}

  /// The sum of all ranks' totals, up a binomial tree to rank 0 and down again. Blocks, with progress.
  totals sum(totals mine) {
    const int rank = LCI_RANK, n = LCI_NUM_PROCESSES;
    const lci::tag_t tag = ep_.id_bits | (round_++ & max_tag);
    int level = 1;
    for (; level < n && (rank & level) == 0; level *= 2) {
      if (rank + level >= n) continue;
      const totals theirs = receive(rank + level, tag);
      mine.sent += theirs.sent;
      mine.delivered += theirs.delivered;
    }
    if (rank != 0) {
      send(rank - level, tag, mine);
      mine = receive(rank - level, tag);
    }
    while ((level /= 2) > 0)
      if (rank + level < n) send(rank + level, tag, mine);
    return mine;
  }

 private:
  /// Leaves nothing to the device's backlog: after its last message this rank may make progress on other devices only.
  void send(int rank, lci::tag_t tag, const totals& t) {
    const auto post =
        lci::post_send_x(rank, &t, sizeof t, tag, lci::COMP_NULL_RETRY).device(ep_.core).matching_engine(engine_);
    persist([&] {
      if (!post().is_retry()) return true;
      make_progress();
      return false;
    });
  }
  /// Ranks that come later may wait for messages through other devices first, and a rank that has failed never comes.
  totals receive(int rank, lci::tag_t tag) {
    constexpr double slice = 0.002;
    totals t;
    const auto post = lci::post_recv_x(rank, &t, sizeof t, tag, lci::COMP_NULL)
                          .deadline(slice)
                          .device(ep_.core)
                          .matching_engine(engine_);
    persist([&] {
      if (post().is_done()) return true;
      check_ranks(the_world());
      make_progress();
      return false;
    });
    return t;
  }
  void make_progress() {
    if (LCI_NUM_DEVICES > 1) progress_on_others(the_world(), ep_.device);
    v1::make_progress(the_world(), ep_.core);
  }

  LCI_endpoint_s& ep_;
  const lci::matching_engine_t engine_;
  uint32_t round_ = 0;
};

void make_progress_for(LCI_endpoint_s& ep, std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  persist([&] {
    make_progress(the_world(), ep.core);
    return std::chrono::steady_clock::now() >= end;
  });
}

}  // namespace

// Deliveries are counted before the round in which they are summed, sends after it. Had a message of round k's time not
// been delivered yet, the sends of round k + 1 would exceed the deliveries of round k. So when those two sums agree,
// every message was delivered at the moment between the rounds.
void await_quiet(LCI_endpoint_s& ep) {
  rounds all(ep);
  std::chrono::microseconds pause(1);
  uint64_t delivered_before = ~uint64_t{0};
  for (;;) {
    const totals now = all.sum(totals_of(ep.id) - ep.counted_before);
    if (now.sent == delivered_before && now.delivered == delivered_before) return;
    const bool moves = delivered_before != now.delivered;
    delivered_before = now.delivered;
    if (now.sent == now.delivered) continue;
    pause = moves ? std::chrono::microseconds(1) : std::min(2 * pause, std::chrono::microseconds(1000));
    make_progress_for(ep, pause);
  }
}

}  // namespace v1
