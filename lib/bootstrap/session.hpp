// The state that all sessions with a launcher share. A session belongs to one process and ends with its first error:
// after that, an answer could be matched with the wrong request.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "lci/errors.hpp"

namespace lci::network {

/// Knows which process owns a bootstrap's session and whether the session still works. Not thread-safe, as bootstrap
/// allows.
class session {
 public:
  /// Throws if an earlier session of this process has failed: launchers grant one session per process.
  explicit session(const char* kind) : kind_(kind) {
    if (!failure().empty()) {
      throw bootstrap_error("the launcher's session has failed before: " + failure());
    }
  }

  /// For error messages: the variable by which the launcher was found, and this process's rank and size.
  void describe(const std::string& where, int rank, int size) {
    where_ = where;
    rank_ = rank;
    size_ = size;
  }

  /// Allows another session after one that failed to begin: a launcher that refuses a protocol has answered the
  /// request, so the next answer belongs to the next request.
  static void allow_another() { failure().clear(); }

  bool usable() const { return mine() && !broken_; }
  /// Returns whether this process opened the session, rather than being forked off the one that did.
  bool mine() const { return getpid() == owner_; }

  /// For operations that run() runs: between the two calls a request may have been sent in part, or its answer may be
  /// unread.
  void begin_exchange() { in_exchange_ = true; }
  void end_exchange() { in_exchange_ = false; }

  /// Runs one operation. A bootstrap_error in it breaks the session, and so does any exception within an exchange,
  /// since the next exchange would read the unread rest of this one as its own answer.
  template <class F>
  void run(const char* operation, F&& body) {
    const std::string who = std::string(kind_) + " bootstrap (" + where_ + ", rank " + known(rank_) + " of " +
                            known(size_) + "): " + operation + ": ";
    if (!mine()) {
      throw bootstrap_error(who + "this process was forked off rank " + std::to_string(rank_) +
                            "; only the rank itself may use LCI");
    }
    if (broken_) throw bootstrap_error(who + "the session has failed before: " + failure());
    in_exchange_ = false;
    try {
      std::forward<F>(body)();
    } catch (const bootstrap_error& error) {
      break_off();
      failure() = who + error.what();
      throw bootstrap_error(failure());
    } catch (...) {
      if (in_exchange_) break_off();
      throw;
    }
  }

 private:
  void break_off() {
    broken_ = true;
    failure() = "no memory";  // needs none; a longer text may replace it
  }

  static std::string known(int number) { return number < 0 ? "?" : std::to_string(number); }

  /// Why the process's session broke; empty if it did not.
  static std::string& failure() {
    static std::string text;
    return text;
  }

  const char* const kind_;
  const pid_t owner_ = getpid();
  bool broken_ = false, in_exchange_ = false;
  std::string where_;
  int rank_ = -1, size_ = -1;
};

}  // namespace lci::network
