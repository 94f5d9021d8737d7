// A place where active messages (or signals of puts and gets) arrive, one class for all kinds of
// completion objects, so that a test can be run with each of them.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/harness.hpp"

namespace conf {

enum class inbox_kind {
  handler,           ///< payload in a buffer of its own, freed by the receiver
  in_place_handler,  ///< payload where it arrived, gone when the handler returns
  packet_handler,    ///< payload in a packet, given back by the receiver
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
const char* name_of(inbox_kind kind);

/// One arrival: the status and a copy of the bytes.
struct arrival {
  lci::status_t status;
  std::string data;
};

/// Owned by the rank's main thread, which also collects; signalled by any. One inbox of a handler
/// kind a rank at a time (a handler is a plain function).
class inbox {
 public:
  /// `expected`: how many arrivals a round has (the threshold of a synchronizer).
  /// `with_payload` is false for signals of puts and gets, whose buffer is not the receiver's.
  inbox(rank_env& env, inbox_kind kind, int expected, bool with_payload = true);
  ~inbox();
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  lci::comp_t comp() const { return comp_; }
  lci::rcomp_t rcomp() const { return rcomp_; }
  bool tells_status() const { return kind_ != inbox_kind::counter; }

  /// The `expected` arrivals of a round, in any order. A counter's have no content.
  std::vector<arrival> collect();
  /// What has arrived beyond the rounds collected; checks that it is nothing.
  bool empty();

  /// Called by completion objects.
  void arrived(lci::status_t status);

 private:
  struct custom_comp;

  bool poll();  ///< moves what a queue or synchronizer holds into arrivals_; true when round done
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
  std::vector<arrival> arrivals_;  // under mutex_
};

}  // namespace conf
