// Searches for other processes, each of which ends with a connection.
#pragma once

#include <na.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "lib/layers/na/identity.hpp"
#include "lib/layers/na/operation.hpp"

struct na_class;

namespace na {

/// If two processes look for each other at the same time, one of them connects, and the other one waits for that:
/// messages that name a peer must come through the one connection with it. Each knows, before it decides, who asks its
/// own listener, and whether the other one had decided when it answered; if both only ask, the smaller identity
/// connects. Both can't decide to connect: then neither had decided when it answered the other one, so each was asked
/// before it decided, and the greater identity waits. Both can't wait: who waits knows that the other one has decided,
/// or is the greater one.
///
/// A search blocks, in a thread of its own or in the caller's: it resolves the name, and connects, unless there is a
/// connection with that process. Searches for one process wait for each other, so that they find the same connection.
/// Thread-safe.
class lookups {
 public:
  /// Seconds that a process may take to answer.
  static constexpr double patience = 10;

  /// The address of the process of this name. Throws lci::peer_failure_error if it does not answer,
  /// lci::invalid_argument_error for what is no name.
  na_addr_t find(na_class& c, const std::string& name, const std::atomic<bool>& give_up);

  /// The same in a thread, which finishes the operation. Throws if there is none.
  void start(na_class& c, operation* op, const char* name);
  /// Ends the operation of this number as cancelled, unless it has ended.
  void cancel(na_class& c, operation* op, na_op_id_t id);
  /// Whether this process has decided to connect with that one, and has not ended yet.
  bool connects_with(const identity& who);
  /// Ends all, and waits for their threads.
  void stop(na_class& c);

 private:
  struct search {
    operation* op = nullptr;  // null: it has ended; guarded by mutex_
    std::string name;
    std::atomic<bool> give_up{false};
  };
  na_addr_t connect(na_class& c, const struct card& to);
  na_addr_t connect_or_await(na_class& c, const class resolved& there, const std::atomic<bool>& give_up);
  void run(na_class& c, const std::shared_ptr<search>& s);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<identity> connecting_;
  std::set<std::shared_ptr<search>> running_;
};

}  // namespace na
