// What a device knows of failures: peers that have failed or close their devices, requests that the network refused,
// and exceptions that the program has yet to see.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/core/wire/failure.hpp"

namespace lci::core {

class runtime;

/// Part of a device. Thread-safe. A rank of the job that has failed stays failed; the id of a peer outside of the job
/// may later belong to another peer.
class peer_failures {
 public:
  explicit peer_failures(runtime& rt);
  /// The largest number of exceptions that wait to be thrown.
  static constexpr size_t most_exceptions = 64;

  // --- recording ---

  /// Records that a rank of the job has failed. `report`: the next progress() throws it; otherwise only posts to the
  /// rank do, until report_failure_of(). Returns false if the failure was known, as networks that share the way to a
  /// peer may both notice it.
  bool add(int peer, const char* reason, bool report);
  /// Records that the process of a peer outside of the job has ended without closing the connection. The next
  /// progress() throws it.
  void add_external(int peer);
  /// Drops what is known of a peer outside of the job beside its failure: the id may belong to another peer later.
  void forget(int peer);
  /// Has the next progress() throw the failure of that peer, unless one has before.
  void report_failure_of(int peer);
  /// Records, and logs, why the network refused a request to a peer that is alive: throw_fatal() says it.
  void add_refusal(int peer, const char* what);
  /// Records that the peer closes its device; `how`: wire::ends or wire::has_ended.
  void add_device_end(int peer, uint8_t how);
  /// Keeps, and logs, an exception that could not be thrown where it was caught, for example of a handler in a progress
  /// thread: the next progress() of the program throws it. Drops it if most_exceptions others wait. Needs no memory.
  LCI_COLD void add_exception(std::exception_ptr thrown) noexcept;

  // --- asking ---

  /// Returns whether has_failed() and with() are worth a call.
  bool may_be_any() const { return look_.load(std::memory_order_seq_cst); }
  /// Returns whether a rank of the job has failed.
  bool any_rank() const { return any_rank_.load(std::memory_order_relaxed); }
  LCI_COLD bool has_failed(int peer) const;
  /// Returns whether the peer closes its device, or has closed it.
  LCI_COLD bool is_closing(int peer) const;
  /// How an operation ends that waits for the peer: `none` while the peer may still answer.
  LCI_COLD failure with(int peer) const;

  // --- throwing ---

  /// Throws peer_failure_error if a failure of `peer` is known, invalid_argument_error if the id belongs to no peer.
  void check(int peer) const {
    if (LCI_UNLIKELY(look_.load(std::memory_order_relaxed))) throw_if_failed(peer);
  }
  /// Throws peer_failure_error if a failure of any rank of the job is known.
  void check_ranks() const {
    if (LCI_UNLIKELY(any_rank())) throw_of_a_rank();
  }
  /// Throws what is known of an operation with `peer` that ended as `fatal`.
  [[noreturn]] LCI_COLD void throw_fatal(int peer) const;
  /// Throws if an operation that has ended with this status has failed (`cancelled` and `timed_out` are no failures).
  void check_status(const status_t& status) const {
    if (LCI_UNLIKELY(status.error.errorcode >= errorcode_t::fatal)) throw_why(status);
  }
  /// Throws the oldest failure or exception that is to be reported, if there is one.
  void report() {
    if (LCI_UNLIKELY(unreported_.load(std::memory_order_relaxed))) throw_next();
  }

 private:
  struct peer_failure {
    int peer;
    std::string reason;  // empty if there was no memory for it
    bool to_report;      // by a later progress()
    bool reported = false;
  };

  void record(int peer, const char* reason, bool report);  // under mutex_
  std::string text_of(const peer_failure& failure) const;
  LCI_COLD void throw_if_failed(int peer) const;
  LCI_COLD void throw_of_a_rank() const;
  LCI_COLD void throw_why(const status_t& status) const;
  LCI_COLD void throw_next();

  runtime& rt_;
  const int n_ranks_;  // ids from here on belong to peers outside of the job
  std::atomic<bool> any_rank_{false};
  std::atomic<bool> look_;  // any_rank_, a device end, or there may be peers outside of the job
  std::atomic<bool> unreported_{false};
  mutable std::mutex mutex_;
  std::vector<peer_failure> failures_;          // under mutex_
  std::vector<std::exception_ptr> exceptions_;  // with room for most_exceptions; under mutex_
  std::map<int, uint8_t> device_ends_;          // by peer; under mutex_
  std::map<int, std::string> refusals_;         // by peer, the latest; under mutex_
};

}  // namespace lci::core
