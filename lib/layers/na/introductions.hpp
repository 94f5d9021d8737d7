// How two processes learn, after the core has connected them, who the other one is, and agree on one connection.
#pragma once

#include <na.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "lci.hpp"
#include "lib/layers/na/addresses.hpp"
#include "lib/layers/na/identity.hpp"

struct na_class;

namespace na {

/// An active message of fixed size, so that no length is ever trusted.
struct introduction {
  static constexpr uint64_t version = 0x4e4120696e7432;  // changed with this struct
  enum class kind : uint32_t {
    who_are_you,  // by the connecting process
    i_am,         // the answer: identity and name
    claim,        // by the connecting process: messages shall take this connection
    accepted,     // the answers
    refused,
  };

  uint64_t magic = version;
  uint64_t number = 0;  // of the question, which its answer repeats
  kind what = kind::who_are_you;
  uint32_t unused = 0;
  identity who{};
  char name[256] = {};
};

/// Messages that name a peer must come through one connection, as receives name it by its id. So the connecting
/// process first asks who is there, and then claims the connection. A claim is refused by a process that knows
/// the other one already, and by one that has claimed a connection with it and has the smaller identity. If both have
/// claimed, neither knew the other one before, and their identities decide in the same way in both: so one connection
/// is left.
///
/// Receives the introductions of a class. Thread-safe.
class introductions final : public lci::comp_impl_t {
 public:
  using clock = std::chrono::steady_clock;

  explicit introductions(na_class& c);
  /// Registers with the class's runtime. Throws what that throws.
  void open();
  void signal(lci::status_t status) override;

  /// Exchanges names with the process at the other end of a new connection. Returns the process's address. Where two
  /// processes have connected to each other at once, that is the address of the other connection, and this function has
  /// closed the new one. NA_ADDR_NULL: the other process still uses an older connection, which is closed at this end.
  /// Throws lci::peer_failure_error if the process does not answer before `end`, or when `give_up` becomes true.
  na_addr_t introduce(uint32_t rank, clock::time_point end, const std::atomic<bool>& give_up);
  /// The peer with this id has failed.
  void on_failure(uint32_t rank);

 private:
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
  void drop(uint32_t rank);

  na_class& class_;
  std::mutex mutex_;
  std::map<uint64_t, question> asked_;    // under mutex_
  std::map<identity, uint32_t> claimed_;  // under mutex_: whose verdict has not come; values are ids
  uint64_t next_ = 1;                     // under mutex_
};

}  // namespace na
