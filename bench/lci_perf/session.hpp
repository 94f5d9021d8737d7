// A run of lci_perf on LCI: its resources, its threads, and the protocol of rounds.
//
// The first sender sends the first receiver a command, an active message, with the number and size of the next
// messages. The receivers prepare and answer that they are ready; then the clock starts. Pairs of processes use
// collectives instead.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "bench/lci_perf/benchmark.hpp"
#include "bench/lci_perf/handoff.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {

/// Sent by the first sender to the first receiver.
struct command {
  uint64_t serial = 0;
  uint64_t count = 0;  ///< messages of the round for each pair; 0: stop
  uint64_t size = 0;
  bool check = false;  ///< checks that messages arrive unchanged; not measured
};

/// Constructed and run by the main thread, once per process.
class session {
 public:
  session(const options& o, int ranks, int rank);
  ~session();
  void run();

 private:
  /// Returns whether the two ends of a pair have a device each within one process. (With two ranks they always do.) Not
  /// with registered memory, which is reached only through the device that it was registered with.
  bool has_two_devices() const { return ranks_ == 1 && options_.dedicated && !has_memory(options_.op); }
  void make_sides();
  void make_handlers();
  int new_side_objects(side& s);
  void give_memory(side& sender, side& receiver, size_t bytes);
  void release();

  void sender_thread(int i);
  void receiver_thread(int i);
  void lead_senders();
  void run_processes();
  double round_together(command c);
  void measure_sizes(const std::function<double(command)>& round);
  void meet(spin_barrier& barrier, side& s) const;
  double round(command c);
  round_plan plan_of(const command& c) const;
  const benchmark& part(const round_plan& plan) const { return plan.check ? checked_ : benchmark_; }
  /// Chooses the partner's handler for messages of that size. Returns who owns the payload of arriving ones.
  payload_kind choose_delivery(side& s, size_t size) const;
  std::vector<std::string> notes() const;

  const options& options_;
  const int ranks_, rank_;
  const int pairs_;  // of threads, or of processes
  const bool sends_, receives_;
  const bool crowded_;
  const benchmark benchmark_, checked_;
  const bool is_stream_;
  std::unique_ptr<handoff> handoff_;
  size_t max_eager_ = 0;  // bytes; larger messages always arrive in allocated memory, unless a handler reads in place
  std::vector<lci::device_t> own_devices_;
  std::vector<lci::comp_t> comps_;
  std::vector<lci::rcomp_t> rcomps_;
  std::vector<lci::symmetric_t> memories_;
  lci::rcomp_t command_handler_ = 0, ready_handler_ = 0;
  uint64_t serial_ = 0;                     // serial number of the last command
  bool ended_ = false;                      // pairs of processes: the stop command has arrived
  round_plan sender_plan_, receiver_plan_;  // written by a role's first thread before the start barrier
  spin_barrier sender_barrier_, receiver_barrier_;
};

}  // namespace lci_perf
