// Process-wide state for handlers, which are plain functions.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "bench/lci_perf/session.hpp"

namespace lci_perf {

struct process_state {
  std::unique_ptr<side[]> senders, receivers;
  // Handlers that read messages in place, and handlers that own their messages' memory.
  lci::rcomp_t to_receiver = 0, to_sender = 0, owned_by_receiver = 0, owned_by_sender = 0;
  lci::rcomp_t ack_receiver = 0, ack_sender = 0;
  lci::rcomp_t check_receiver = 0, check_sender = 0;
  lci::comp_t on_recv;
  command last_command;
  // The serial numbers of the last command, and of the last one that the receivers are ready for.
  std::atomic<uint64_t> commanded{0}, ready{0};
};
extern process_state state;

}  // namespace lci_perf
