// The handshake on a new connection: two processes exchange identities and names, and agree on one connection.
#pragma once

#include <na.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lci.hpp"
#include "lib/base/cpu.hpp"
#include "lib/layers/na/addresses.hpp"
#include "lib/layers/na/identity.hpp"

struct na_class;

namespace na {

/// A message of the handshake. It has a fixed size, so the receiver needs no length from the sender.
struct introduction {
  static constexpr uint64_t version = 0x4e4120696e7433;  // to be changed whenever this struct changes
  enum class kind : uint32_t {
    who_are_you,  // from the connecting process
    i_am,         // the answer: identity and name
    claim,        // from the connecting process: use this connection for messages
    accepted,     // the answers to a claim
    refused,
  };

  uint64_t magic = version;
  uint64_t number = 0;  // number of the question; its answer repeats it
  kind what = kind::who_are_you;
  uint32_t most_calls = 0;  // unanswered calls that the sender accepts from one peer
  identity who{};
  char name[256] = {};
};

/// Runs the handshakes of a class. Owned by the class. Thread-safe.
///
/// Two processes must have one connection only, since receives name a peer by its connection's id. So the connecting
/// process first requests the peer's identity, and then claims the connection. A process refuses a claim if it has a
/// connection with the claimant already, or if it has claimed one itself and its identity is the smaller one. If both
/// have claimed, both compare the same two identities, so exactly one of the connections remains.
class introductions final : public lci::comp_impl_t {
 public:
  using clock = std::chrono::steady_clock;

  explicit introductions(na_class& c);
  /// Registers with the class's runtime. Throws exceptions of the core.
  void open();
  void signal(lci::status_t status) override;

  /// Runs the handshake on a new connection and returns the address of the process at its other end. If both processes
  /// have connected to each other, and the other connection was chosen, this closes the new one and returns the address
  /// of the other. Returns NA_ADDR_NULL if the peer has not yet noticed that an older connection has ended.
  /// Throws lci::peer_failure_error if the peer does not answer before `end`, or when `give_up` becomes true.
  na_addr_t introduce(uint32_t rank, clock::time_point end, const std::atomic<bool>& give_up);
  /// Ends the handshakes with a peer that has failed.
  void on_failure(uint32_t rank);
  /// Returns whether answers to peers have not been sent yet.
  bool owes() const { return owes_.load(std::memory_order_seq_cst); }
  /// Sends those for which there is room.
  void answer_some() {
    if (LCI_UNLIKELY(owes())) answer_all();
  }

 private:
  /// The answer to a peer's last question. Not sent where the question arrives, since the core queues what a handler
  /// sends without a limit: a peer that asks without end and reads no answers would fill this process's memory.
  struct owed {
    introduction::kind what{};
    uint64_t number = 0;
    uint32_t questions = 0;  // since the last answer was sent; 0: no answer is owed
    bool is_listed = false;  // in owing_
  };
  struct question {
    uint32_t rank = 0;
    bool is_answered = false, has_failed = false;
    introduction answer;
  };

  introduction message(introduction::kind what, uint64_t number) const;
  bool send(uint32_t rank, const introduction& m, bool may_wait);
  introduction ask(uint32_t rank, introduction::kind what, clock::time_point end, const std::atomic<bool>& give_up);
  na_addr_t claim(uint32_t rank, const introduction& other, clock::time_point end, const std::atomic<bool>& give_up);
  bool accepts(uint32_t rank, const introduction& m);
  /// Assigns the id to the process that has introduced itself. Returns its address.
  na_addr_t assign(uint32_t rank, const introduction& m);
  void owe(uint32_t rank, introduction::kind what, uint64_t number);
  LCI_COLD void answer_all();
  /// Returns false if there is no room.
  bool answer(uint32_t rank, const introduction& m);
  void drop(uint32_t rank);

  na_class& class_;
  std::mutex mutex_;
  std::map<uint64_t, question> asked_;    // under mutex_
  std::map<identity, uint32_t> claimed_;  // under mutex_: ids of connections whose claims have no answer yet
  uint64_t next_ = 1;                     // under mutex_
  std::unique_ptr<owed[]> owed_;          // by rank; under mutex_
  std::vector<uint32_t> owing_;           // ranks; has room for all; under mutex_
  std::mutex answering_;                  // held by the thread that sends answers
  std::atomic<bool> owes_{false};
};

}  // namespace na
