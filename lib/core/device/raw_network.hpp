// State of a device's raw network operations (net_*).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "lci/completion.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/segmented_queue.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

class device;

/// Raw operations are the core's operations with completion objects that queue statuses here, so they share device,
/// progress, backlog and failure handling with all others. Raw messages are sends of a matching engine of their own,
/// all under one key, so each matches the oldest receive. Thread-safe.
class raw_network {
 public:
  explicit raw_network(core::runtime& rt);
  ~raw_network();
  raw_network(const raw_network&) = delete;
  raw_network& operator=(const raw_network&) = delete;

  /// Queues the status of an operation that has ended.
  void report(net_opcode_t opcode, const status_t& status);
  /// Removes the oldest statuses, at most `max`; returns their number.
  size_t take(size_t max, net_status_t* out);

  /// Owns a completion object until drop(), or until the device is destroyed, after which it is never signalled.
  void keep(std::unique_ptr<comp_impl_t> comp);
  void drop(comp_impl_t* comp);
  /// Returns true for a completion object that ends with this object, as it is kept or a member.
  bool owns(const comp_impl_t* comp);

  matching_engine engine;

 private:
  class reporter final : public comp_impl_t {
   public:
    reporter(raw_network& raw, net_opcode_t opcode) : raw_(raw), opcode_(opcode) {}
    void signal(status_t status) override { raw_.report(opcode_, status); }

   private:
    raw_network& raw_;
    const net_opcode_t opcode_;
  };

  core::runtime& rt_;
  segmented_queue<net_status_t> statuses_;
  std::mutex kept_mutex_;
  std::map<comp_impl_t*, std::unique_ptr<comp_impl_t>> kept_;  // under kept_mutex_

 public:
  // Completion objects, one for each opcode.
  reporter sent{*this, net_opcode_t::SEND};
  reporter received{*this, net_opcode_t::RECV};
  reporter written{*this, net_opcode_t::WRITE};
  reporter remotely_written{*this, net_opcode_t::REMOTE_WRITE};
  reporter got{*this, net_opcode_t::READ};
};

/// The device's; created at its first use, or when the first raw message arrives. Thread-safe.
LCI_COLD raw_network& raw_of(device& d);

}  // namespace lci::core
