// Process-wide state for handlers, which are plain functions.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "bench/lci_perf/session.hpp"

namespace lci_perf {

struct process_state {
  std::unique_ptr<side[]> senders, receivers;
  lci::rcomp_t to_receiver = 0, to_sender = 0, ack_receiver = 0, ack_sender = 0;
  lci::rcomp_t check_receiver = 0, check_sender = 0;
  lci::comp_t on_recv;
  /// Larger messages are copied before the handler runs, in whichever network.
  size_t largest_in_place = 0;
  command last_command;
  // The serial numbers of the last command, and of the last one that the receivers are ready for.
  std::atomic<uint64_t> commanded{0}, ready{0};
};
extern process_state state;

}  // namespace lci_perf
