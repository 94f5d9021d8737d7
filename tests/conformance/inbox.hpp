// Collects active messages, or signals of puts and gets. It is one class for all kinds of completion objects,
// so that a test can be run with each of them.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/harness.hpp"

namespace conf {

enum class inbox_kind {
  handler,           ///< payload in an allocated buffer, which the receiver frees
  in_place_handler,  ///< payload where it arrived, valid until the handler returns
  am_handler,        ///< in place as well, without a status
  packet_handler,    ///< payload in a packet, which the receiver gives back
  queue_lcrq,
  queue_array,
  packet_queue,
  sync_one,
  sync_many,
  counter,  ///< counts only
  custom,
  in_place_custom,
};
const std::vector<inbox_kind>& all_inbox_kinds();
/// For remote completion: also the kind whose function gets no status.
const std::vector<inbox_kind>& all_target_kinds();
const char* name_of(inbox_kind kind);

/// One arrival: the status and a copy of the bytes.
struct arrival {
  lci::status_t status;
  std::string data;
};

/// Owned by the rank's main thread, which also calls collect(); any thread may signal it. A rank may have one inbox
/// of a handler kind at a time, since a handler is a plain function.
class inbox {
 public:
  /// `expected`: the number of arrivals in a round (the threshold of a synchronizer).
  /// `with_payload` is false for signals of puts and gets, whose buffer is not the receiver's.
  inbox(rank_env& env, inbox_kind kind, int expected, bool with_payload = true);
  ~inbox();
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  lci::comp_t comp() const { return comp_; }
  lci::rcomp_t rcomp() const { return rcomp_; }
  bool tells_status() const { return kind_ != inbox_kind::counter; }

  /// Waits for the `expected` arrivals of a round and returns them in any order. A counter's have no content.
  std::vector<arrival> collect();
  /// Returns whether nothing has arrived beyond the collected rounds.
  bool empty();

  /// Called by completion objects.
  void arrived(lci::status_t status);

 private:
  struct custom_comp;

  bool poll();  ///< moves statuses from a queue or synchronizer to arrivals_; true once the round is complete
  arrival take(lci::status_t status);

  rank_env& env_;
  inbox_kind kind_;
  size_t expected_;
  bool with_payload_;
  std::unique_ptr<custom_comp> custom_;
  lci::comp_t comp_;
  lci::rcomp_t rcomp_ = 0;
  int64_t counted_ = 0;
  std::mutex mutex_;
  std::vector<arrival> arrivals_;  // guarded by mutex_
};

}  // namespace conf
