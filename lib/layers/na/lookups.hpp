// Lookups: from a process's name to a connection and its address.
#pragma once

#include <na.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "lib/layers/na/operation.hpp"

struct na_class;

namespace na {

/// The lookups of a class. Resolving a name blocks, so an asynchronous lookup has a thread of its own. A lookup
/// connects, and closes the new connection if there is one with that process already (introductions.hpp). Owned by the
/// class. Thread-safe.
class lookups {
 public:
  /// Seconds within which the process that is looked up must answer.
  static constexpr double answer_limit = 10;

  /// Blocks. Returns the address of the process with this name. Throws lci::peer_failure_error if it does not answer,
  /// lci::invalid_argument_error if the name is malformed.
  na_addr_t find(na_class& c, const std::string& name, const std::atomic<bool>& give_up);

  /// Calls find() in a new thread, which completes the operation. Throws lci::resource_error if no thread can be
  /// created.
  void start(na_class& c, operation* op, const char* name);
  /// Completes the operation with this number as cancelled, unless it has completed.
  void cancel(na_class& c, operation* op, na_op_id_t id);
  /// Cancels all lookups and joins their threads.
  void stop(na_class& c);

 private:
  struct search {
    operation* op = nullptr;  // null after it has completed; guarded by mutex_
    std::string name;
    std::atomic<bool> give_up{false};
  };
  void run(na_class& c, const std::shared_ptr<search>& s);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::shared_ptr<search>> running_;
};

}  // namespace na
