// What a device keeps for its raw network operations (net_*).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "lci/completion.hpp"
#include "lib/concurrent/segmented_queue.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

/// Raw operations are the core's own ones with completion objects that file statuses here, so they
/// share devices, progress, backlog and failures with all others. Raw messages are sends of an
/// engine of their own, all under one key: each meets the oldest receive. Thread-safe.
class raw_network {
 public:
  explicit raw_network(core::runtime& rt);
  ~raw_network();
  raw_network(const raw_network&) = delete;
  raw_network& operator=(const raw_network&) = delete;

  /// Files what has become of an operation.
  void report(net_opcode_t opcode, const status_t& status);
  /// The oldest statuses, at most `max`; how many.
  size_t take(size_t max, net_status_t* out);

  /// Owns a completion object until drop(), or until the device goes and nobody will signal it.
  void keep(std::unique_ptr<comp_impl_t> comp);
  void drop(comp_impl_t* comp);

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
  // Completion objects: one for each kind of end.
  reporter sent{*this, net_opcode_t::SEND};
  reporter received{*this, net_opcode_t::RECV};
  reporter written{*this, net_opcode_t::WRITE};
  reporter remotely_written{*this, net_opcode_t::REMOTE_WRITE};
  reporter got{*this, net_opcode_t::READ};
};

}  // namespace lci::core
