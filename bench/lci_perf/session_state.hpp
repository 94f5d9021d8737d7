// What handlers reach: they are plain functions, so it belongs to the process.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "bench/lci_perf/session.hpp"

namespace lci_perf {

/// What the first sender tells the first receiver.
struct command {
  uint64_t serial = 0;
  uint64_t count = 0;  ///< messages of the round for each pair; 0: the end
  uint64_t size = 0;
};

struct process_state {
  std::unique_ptr<seat[]> senders, receivers;
  lci::rcomp_t to_receiver = 0, to_sender = 0, ack = 0;
  lci::comp_t on_recv;
  // The last command, and the last one that the receivers are ready for.
  std::atomic<uint64_t> commanded{0}, count{0}, size{0}, ready{0};
};
extern process_state state;

}  // namespace lci_perf
