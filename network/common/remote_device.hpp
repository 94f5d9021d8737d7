// What the devices of networks between hosts have in common: they learn that peers have failed or ended, keep events
// for the next poll, sleep, and close.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "network/common/check_time.hpp"
#include "network/common/close_timeout.hpp"
#include "network/common/crowd_watch.hpp"
#include "network/common/deferred_events.hpp"
#include "network/common/idle_counter.hpp"
#include "network/common/peer_state.hpp"
#include "network/common/remote_context.hpp"
#include "network/common/suspicions.hpp"
#include "network/common/wake_event.hpp"

namespace lci::network {

/// Thread-safe. The derived class owns the peers; this class decides when one has failed or ended, and reports it once.
class remote_device : public device {
 public:
  void wait(int64_t timeout_us) override { sleep(timeout_us, false); }
  void park(int64_t timeout_us) override { sleep(timeout_us, true); }
  void unpark() override { wake_.set(); }
  bool flushed() final;

 protected:
  /// `backend`: its name, for errors. `longest_suspicion`: by then the liveness connection has detected that the
  /// peer's process has died, or that its host does not answer.
  remote_device(remote_context& c, const char* backend, std::chrono::seconds longest_suspicion)
      : job_(c), longest_suspicion_(longest_suspicion), wake_(backend) {}

  // --- what a backend does; called on no fast path ---

  virtual peer_state& state_of(int rank) = 0;
  /// The beginning of a reason for a failure.
  virtual std::string label() const = 0;
  /// The peer has just failed (or ended, if not `failed`): posts to it answer `fatal` from now on.
  virtual void on_gone(int rank, bool failed) = 0;
  /// Returns whether this suspicion is groundless or obsolete.
  virtual bool is_settled(int rank) { return state_of(rank).is_gone(); }
  /// Returns whether a suspected peer whose process is alive has ended its device.
  virtual bool alive_means_ended() const { return false; }
  /// Sends what waits. Returns false if something has not left yet.
  virtual bool has_sent_all() = 0;
  /// Sends a close notification to the peer, if that was not done. Returns true if the peer has answered it or needs
  /// none.
  virtual bool close_to(int rank) = 0;
  /// Returns whether messages to the peer, which is alive, have not left this device.
  virtual bool has_unsent(int rank) { return (void)rank, false; }
  /// Called by check_peers().
  virtual void check_own() {}
  /// Adds the descriptors of events; false: poll() may find something.
  virtual bool prepare_to_sleep(sleep_set& events) = 0;
  virtual void on_wake(const sleep_set& events) { (void)events; }

  // --- what a backend calls ---

  /// The first action of settle(), also if that is repeated. Not done earlier: if the device can't be made or
  /// published, the next one gets its number, as on the other ranks, which still wait for this rank.
  void count_device() {
    if (number_ == uncounted) number_ = job_.number_device();
  }
  bool is_counted() const { return number_ != uncounted; }
  /// Thread-safe; has an effect once, and none if the peer has ended.
  LCI_COLD void fail_peer(int rank, const std::string& reason);
  /// For a peer whose address is of no use. The calling thread may be inside a poll, so it only gets `fatal`; the next
  /// poll reports the failure and its reason.
  LCI_COLD void warn_and_fail_peer(int rank, const char* reason);
  /// The peer has freed its device.
  LCI_COLD void end_peer(int rank);
  /// Reads the liveness connections, which is a system call.
  LCI_COLD void check_peers();
  /// A poll or post had no result.
  void count_idle() {
    const uint32_t polls = idle_.count();
    if (LCI_UNLIKELY(crowd_.is_due(polls))) crowd_.look(polls, idle_.in_a_row());
    if (LCI_UNLIKELY(polls % polls_between_checks == 0))
      check_peers();
    else
      check_if_late();
  }
  void count_result() { idle_.note_result(); }
  /// As count_idle() for polls that have results, and for programs that rarely poll: where many threads share a core, a
  /// thousand polls may take a minute.
  void check_if_late() {
    if (LCI_UNLIKELY(checked_.is_over(cpu_ticks()))) check_peers();
  }
  /// Reserves memory for the failures of `n` peers, so that reporting them can't fail for want of it.
  void reserve_peers(size_t n) {
    deferred_.reserve_peers(n);
    deferred_.reserve(given_up_, n);
  }
  void suspect(suspicion& peer, int rank, const std::string& reason) { suspicions_.add(peer, rank, reason); }
  void sleep(int64_t timeout_us, bool parked);
  /// Wakes a progress thread if one sleeps. After a sequentially consistent store, either the sleeper sees what was
  /// stored, or it is woken.
  void wake_if_parked() {
    if (LCI_UNLIKELY(parked_.load(std::memory_order_seq_cst) != 0)) wake_.set();
  }
  /// Returns whether any thread sleeps. The caller, who has stored an event, then wakes the threads.
  bool has_sleepers() const { return sleepers_.load(std::memory_order_seq_cst) != 0; }
  /// As has_sleepers(), after a change of deferred_: either a sleeper sees that, or this thread sees the sleeper. The
  /// later change of the count decides.
  bool has_sleepers_after_event() { return sleepers_.fetch_add(0, std::memory_order_acq_rel) != 0; }

  /// Events that occurred outside of a poll, or that a poll could not report.
  alignas(cache_line) deferred_events deferred_;
  idle_counter idle_;

 private:
  static constexpr uint32_t polls_between_checks = 1024;  // without a result
  crowd_watch<polls_between_checks, polls_between_checks> crowd_;
  LCI_COLD void settle_suspicions();
  LCI_COLD bool mark_failed(int rank, const std::string& reason);
  /// Logs, once, which peers do not get what this device has not sent by the end of its last wait.
  LCI_COLD void report_unsent();
  /// Notifies peers that this device counts as failed, and whose processes are alive.
  LCI_COLD void give_up_failed();

  remote_context& job_;
  const std::chrono::seconds longest_suspicion_;
  wake_event wake_;
  std::atomic<size_t> departures_seen_{0};  // of the context's liveness
  suspicions suspicions_;
  deferred_events::list<int> given_up_;  // deferred_: peers to be notified that they count as failed
  std::atomic<int> sleepers_{0}, parked_{0};
  check_time checked_;            // check_peers()
  close_timeout close_timeout_;   // of flushed(); used by one thread
  bool unsent_reported_ = false;  // the same

 protected:
  static constexpr uint32_t uncounted = ~uint32_t{0};
  uint32_t number_ = uncounted;  // among the context's devices, equal on all ranks; set by count_device()
};

}  // namespace lci::network
