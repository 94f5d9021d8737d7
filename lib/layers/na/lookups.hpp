// Searches for other processes, each of which ends with a connection.
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

/// A search blocks, in a thread of its own or in the caller's, as it resolves the name. It connects, and ends the new
/// connection if there is one with that process already (introductions.hpp). Thread-safe.
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
  /// Ends all, and waits for their threads.
  void stop(na_class& c);

 private:
  struct search {
    operation* op = nullptr;  // null: it has ended; guarded by mutex_
    std::string name;
    std::atomic<bool> give_up{false};
  };
  void run(na_class& c, const std::shared_ptr<search>& s);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::shared_ptr<search>> running_;
};

}  // namespace na
