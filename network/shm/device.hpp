// A device over shared memory: lanes to the devices of the same number on all peers.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/base/thread_index.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "network/common/crowd_watch.hpp"
#include "network/fabric.hpp"
#include "network/shm/context.hpp"
#include "network/shm/device_entries.hpp"
#include "network/shm/in_lane.hpp"
#include "network/shm/lane_pool.hpp"
#include "network/shm/out_lane.hpp"
#include "network/shm/poller.hpp"

namespace lci::network::shm {

/// Thread-safe. Each sending thread has its own lane to each peer, opened at its first message, so threads that share
/// the device share nothing while sending. When lanes or thread indices run out, threads share one lane to the peer,
/// under its lock; it is in the row of the last index. Several threads may poll: each has a poller and visits lanes of
/// its own. Sends, puts and gets are complete when post() returns.
class device final : public network::device {
 public:
  device(context& c, const device_attr_t& attr, size_t eager_size);
  ~device() override;

  errorcode_t post(const net_op& op) override { return op.kind == verb::send ? send(op) : put_or_get(op); }
  size_t max_inject_to(int peer) const override { return std::max(limits_.max_inject, context_.half_ring_at(peer)); }
  errorcode_t post_pieces(verb kind, int peer, const piece* pieces, size_t n) override;
  errorcode_t inject(int peer, message_head head, const void* payload, size_t size) override;
  int poll(event_sink& sink, int max_events) override;
  registration register_memory(void* base, size_t size) override;
  void deregister_memory(const registration&) override {}
  void wait(int64_t timeout_us) override { sleep(timeout_us, false); }
  void park(int64_t timeout_us) override { sleep(timeout_us, true); }
  attention attention_of(int peer) override;
  bool has_met(int peer) override;
  void add_counts(counters_t& sum) override;
  void unpark() override;

 private:
  using lane_slot = std::atomic<out_lane*>;
  using lane_place = std::atomic<in_lane*>;  // an element of in_lanes_

  /// The place of the row of a thread; also of thread -1, which has no number yet, and never a row.
  std::atomic<lane_slot*>& row_of(int thread) { return (rows_.data() + 1)[thread]; }
  const std::atomic<lane_slot*>& row_of(int thread) const { return (rows_.data() + 1)[thread]; }
  /// The thread's lanes by peer, or null if it has none yet.
  lane_slot* lanes_of(int thread) const { return row_of(thread).load(std::memory_order_acquire); }  // A6: see R6
  /// The thread's lane to `peer`, or null if it is not open yet.
  out_lane* lane_of(int thread, int peer) const {
    const lane_slot* row = lanes_of(thread);
    return LCI_LIKELY(row != nullptr) ? row[peer].load(std::memory_order_acquire)  // A5: see R5
                                      : nullptr;
  }

  // device_lanes.cpp
  /// Null (with the reason in `why`) if the peer's device does not exist yet or no longer, or if no lane is left.
  LCI_COLD out_lane* open_lane(int peer, errorcode_t& why);
  out_lane* open_or_find(int peer, errorcode_t& why);  // may throw bad_alloc
  void make_row(int thread);                           // under mutex_
  LCI_COLD out_lane* make_lane(int peer, lane_use use, errorcode_t& why);
  LCI_COLD void set_lane(int thread, int peer, out_lane* lane);
  LCI_COLD void warn_of_shortage(int peer);
  /// The peer has closed its device or left; under mutex_. Later polls report it.
  LCI_COLD void note_closed(int peer);
  /// The peer's memory can no longer be mapped; under mutex_. Later polls report why.
  LCI_COLD void note_gone(int peer);
  void adopt_listed();  // under mutex_
  LCI_COLD void adopt_lanes();

  // device_external.cpp
  LCI_COLD out_lane* make_external_lane(int peer, errorcode_t& why);  // under mutex_
  LCI_COLD void take_lane_away(int peer);
  LCI_COLD void adopt_external_lanes();
  void adopt_announced(int peer, slot_number here);    // under mutex_
  void adopt_external_lane(int peer, uint32_t index);  // under mutex_
  in_lane* external_lane_of(int peer) const;           // under mutex_
  /// Returns false if messages wait in the lane, or another thread is draining it.
  bool close_external_lane(const external_peers::ending& e);
  /// Returns false if there is still something to handle.
  LCI_COLD bool check_external_peers(event_sink& sink);
  void leave_external_peers();

  /// The payload has at most out_lane::most_of_lines bytes.
  void push_short(out_lane& lane, message_head head, const void* payload, size_t size);
  LCI_NOINLINE errorcode_t inject_other_size(out_lane& lane, message_head head, const void* payload, size_t size);
  /// Returns whether this lane is still the calling thread's lane to `peer`. The caller holds the lane's lock; before
  /// it got the lock, another thread may have reassigned the lane.
  bool may_use(const out_lane& lane, int peer) const { return lane_of(thread_index(), peer) == &lane; }
  /// Returns whether the lane leads to an external peer whose connection has ended. The caller holds the lane's lock.
  bool leads_nowhere(const out_lane& lane, int peer) const {
    return lane.target < 0 && !context_.external_peers()->connected(peer);
  }
  LCI_NOINLINE errorcode_t inject_among_threads(int peer, message_head head, const void* payload, size_t size);
  LCI_NOINLINE errorcode_t inject_slowly(int peer, message_head head, const void* payload, size_t size);
  LCI_NOINLINE errorcode_t send(const net_op& op);
  errorcode_t push(out_lane& lane, const net_op& op, size_t size);
  LCI_NOINLINE errorcode_t put_or_get(const net_op& op);
  /// Copies between op.segments[0] and the peer's memory. Returns 0 or an errno: ESRCH if the peer has closed its
  /// device or has ended, EAGAIN if that is not known now.
  int copy_now(const net_op& op);
  /// Returns whether the peer's device exists: memory registered with a freed device may have been reused. `unknown`:
  /// the system lacks resources to check now.
  presence presence_of(int peer);
  [[noreturn]] LCI_COLD void throw_refused(const net_op& op, int error) const;
  /// Once: a peer's memory can't be mapped now, so posts to it return `retry`.
  LCI_COLD void warn_of_delay(const shortage_error& e);
  LCI_COLD errorcode_t no_room(const out_lane& lane, int peer);
  void after_send(out_lane& lane) {
    compiler_barrier();  // see bell.hpp: the sleeper's membarrier completes the ordering
    if (LCI_UNLIKELY(lane.entry().sleepers.load(std::memory_order_relaxed) != 0)) ring_bell(lane.entry());
  }
  LCI_COLD void ring_bell(device_entry& entry);

  // polling; `me` is null while only one thread polls
  int poll_lanes(event_sink& sink, poller* me);
  int poll_known_lanes(event_sink& sink, poller* me, uint32_t n_lanes);
  static uint32_t first_lanes(uint32_t n) { return static_cast<uint32_t>((uint64_t{1} << n) - 1); }  // n <= 32
  /// Of a device with more lanes than these, each poll visits up to so many that had messages lately, and some of the
  /// others in turn: peers that are silent don't delay those that are not.
  static constexpr uint32_t lanes_of_each_poll = 32;
  LCI_NOINLINE int poll_many_lanes(event_sink& sink, poller* me, uint32_t n_lanes);
  LCI_COLD void move_forward(lane_place* lanes, uint32_t i);
  LCI_COLD void move_silent_back(lane_place* lanes);
  LCI_NOINLINE int poll_new_or_many_lanes(event_sink& sink, poller* me);
  LCI_NOINLINE int poll_among_others(event_sink& sink);
  /// Drains lanes, given as bits.
  LCI_NOINLINE int drain(event_sink& sink, const lane_place* lanes, uint32_t which, poller* me);
  /// If the waiting message will probably be answered, as the last one was, prefetches the slot for the answer, which
  /// overlaps with handling the message.
  bool prepare_answer(in_lane& lane);
  LCI_NOINLINE bool prepare_answer_among_threads(in_lane& lane, out_lane& back);
  static void fetch_slot_of_answer(const in_lane& lane, const out_lane& back);
  /// From time to time while there are no messages.
  LCI_COLD int look_around(event_sink& sink, poller* me, uint32_t polls);
  bool anything_ready() const;
  template <class F>
  bool any_lane(F f) const;
  void sleep(int64_t timeout_us, bool parked);
  /// Returns 0: no events that poll() would count.
  LCI_COLD int check_peers(event_sink& sink);
  /// Reports peers that have closed their device. Returns false if it must be called again soon.
  bool look_for_ends(event_sink& sink);

  // device_pollers.cpp: of several threads that poll, each keeps some of the lanes
  static constexpr uint32_t polls_of_round = 8;         // between two looks at the clock
  static constexpr uint32_t polls_between_reports = 8;  // of one of several pollers, some 200 ns: see report()
  LCI_COLD poller* join_pollers();
  /// The calling thread's poller; null if it has none, e.g. as the only thread that polls.
  poller* known_poller() const {
    const int thread = thread_index_if_known();
    return thread < 0 ? nullptr : pollers_.get(static_cast<size_t>(thread));
  }
  static uint32_t visited_by(const poller& me) {
    return me.kept.load(std::memory_order_relaxed) | me.taken.load(std::memory_order_relaxed);
  }
  static bool looks_further(const poller& me) {
    return me.slow.load(std::memory_order_relaxed) || me.everywhere.load(std::memory_order_relaxed);
  }
  LCI_NOINLINE int poll_other_lanes(event_sink& sink, poller& me, const lane_place* lanes, uint32_t n_lanes);
  LCI_COLD int check_peers_after_all_lanes(event_sink& sink, poller& me);
  void report(poller& me, uint32_t polls);
  LCI_NOINLINE void observe_polls(poller& me, uint32_t polls);
  void look_at_others(poller& me);
  void begin_walk(poller& me);
  LCI_COLD void note_stop(poller& other);
  void share_lanes_out();  // under mutex_

  context& context_;
  mpmc_array<poller*> pollers_;  // by thread index; before place_, as nothing may fail when peers see the device
  const context::place place_;   // in the own segment
  device_entry& entry_;
  std::atomic<lane_place*> in_lanes_{nullptr};  // elements are exchanged under mutex_
  std::atomic<uint32_t> n_in_lanes_{0};
  static constexpr uint32_t many_lanes = ~0u;
  std::atomic<uint32_t> n_few_lanes_{0};  // their number; or many_lanes if that exceeds lanes_of_each_poll
  std::atomic<size_t> failures_reported_{0};
  std::atomic<uint64_t> changes_seen_{0};  // of the context
  /// Polls without a message before the peers' lives are checked, and before a measurement: some 250 us.
  static constexpr uint32_t polls_between_looks = 4096, polls_between_measurements = 16384;
  crowd_watch<polls_between_looks, polls_between_measurements> crowd_;
  static constexpr int no_poller = -2, several_pollers = -3;
  // Index of the only thread that polls, or one of these. Others may have polled before, but have stopped.
  std::atomic<int> only_poller_{no_poller};
  std::atomic<const poller*> reporter_{nullptr};  // see report()
  std::atomic<bool> unparked_{false};             // an unpark() not yet consumed by a park()
  // For opening, adopting, moving and closing lanes. On a line that polls do not read.
  alignas(cache_line) mutable std::mutex mutex_;
  std::vector<std::unique_ptr<in_lane>> owned_in_;          // under mutex_
  std::vector<std::unique_ptr<lane_place[]>> lane_arrays_;  // under mutex_; the last one is in use
  std::vector<std::unique_ptr<out_lane>> owned_out_;        // under mutex_
  std::vector<std::unique_ptr<lane_slot[]>> owned_rows_;    // under mutex_
  std::vector<int> closed_peers_;    // under mutex_: peers whose end is reported or to be reported
  size_t n_ends_told_ = 0;           // under mutex_: number of closed_peers_ already reported
  bool warned_of_shortage_ = false;  // under mutex_
  std::atomic<bool> warned_of_delay_{false};
  std::vector<in_lane*> external_in_;  // under mutex_: those of owned_in_ that external peers use or have used
  std::vector<out_lane*> spare_out_;   // under mutex_: those of owned_out_ not in use
  std::vector<std::unique_ptr<poller>> owned_pollers_;  // under mutex_
  struct share {
    poller* of;
    uint32_t kept, own;
  };
  std::vector<share> ring_;                  // under mutex_: of pollers that are not absent
  poller only_{no_poller};                   // of the only poller: its counters but `polls`, `idle_polls`
  std::atomic<uint32_t> n_lively_lanes_{0};  // of many, those in front; written under mutex_, a hint
  uint32_t moved_ = 0;                       // under mutex_: number of lanes that took the place of others
  poller shared_poller_{no_poller};          // of threads that have none of their own: keeps all lanes
  std::atomic<bool> looking_{false};         // a thread is handling external peers
  uint64_t next_ending_ = 0;                 // under looking_: see external_peers::find_ending()
  std::array<std::atomic<lane_slot*>, max_thread_index + 2> rows_{};
};

}  // namespace lci::network::shm
