// Random traffic of all kinds of operations; each message is checked at its target.
#pragma once

#include <random>

#include "tests/conformance/window.hpp"

namespace stress {

/// One rank's traffic. Constructed by its main thread. All threads of the rank call round() concurrently, each with
/// its own device and number.
class traffic {
 public:
  traffic(conf::rank_env& env, const std::vector<lci::device_t>& devices, uint64_t seed);
  ~traffic();

  /// The part of thread `thread` in a round, on its device: some operations of each kind, to all ranks.
  void round(int thread, lci::device_t device, uint64_t number);
  /// Called after all threads have ended the round: waits for the messages of the others, and checks that each
  /// arrived once.
  void end_round();

  long operations() const { return operations_.load(std::memory_order_relaxed); }

  // Called by the completion handlers of this rank.
  void message_arrived(const lci::status_t& s);
  void signal_arrived(const lci::status_t& s);
  void mistake() { mistakes_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr size_t slot_size = 40'000;

  void send_messages(int thread, lci::device_t device, std::mt19937_64& random);
  void exchange(int thread, lci::device_t device, uint64_t number, lci::comp_t sync);
  void put_and_get(int thread, lci::device_t device, uint64_t number, lci::comp_t sync);

  conf::rank_env& env_;
  int threads_;
  uint64_t seed_;
  lci::comp_t messages_, signals_;
  lci::rcomp_t message_rcomp_, signal_rcomp_;
  conf::window slots_;                   // written by others: one slot for each (rank, thread)
  conf::window constant_;                // read by others
  std::atomic<uint64_t> sent_[64] = {};  // messages, by target, since the beginning
  std::atomic<uint64_t> put_[64] = {};   // puts with signal, by target
  std::atomic<uint64_t> messages_here_{0}, signals_here_{0};
  std::atomic<uint64_t> checksum_out_{0}, checksum_in_{0};  // of the message numbers
  std::atomic<uint64_t> mistakes_{0};
  std::atomic<long> operations_{0};
};

}  // namespace stress
