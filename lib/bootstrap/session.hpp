// What all sessions with a launcher have in common: each belongs to one process, and ends with the
// first thing that goes wrong, since the next answer would be taken for that of another question.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "lci/errors.hpp"

namespace lci::network {

/// The part of a bootstrap that knows whose session it is and whether it still works. Not
/// thread-safe, as the contract says.
class session {
 public:
  /// Throws if an earlier session of this process has failed: launchers grant one only.
  explicit session(const char* kind) : kind_(kind) {
    if (!failure().empty()) {
      throw bootstrap_error("the launcher's session has failed before: " + failure());
    }
  }

  /// For error messages: by which variable the launcher was found, and who we are.
  void describe(const std::string& where, int rank, int size) {
    where_ = where;
    rank_ = rank;
    size_ = size;
  }

  bool usable() const { return mine() && !broken_; }
  /// This is the process that opened it, none forked off it.
  bool mine() const { return getpid() == owner_; }

  /// Runs one operation. A bootstrap_error in it breaks the session; anything else passes.
  template <class F>
  void run(const char* operation, F&& body) {
    const std::string who = std::string(kind_) + " bootstrap (" + where_ + ", rank " +
                            std::to_string(rank_) + " of " + std::to_string(size_) +
                            "): " + operation + ": ";
    if (!mine()) {
      throw bootstrap_error(who + "this process was forked off rank " + std::to_string(rank_) +
                            "; only the rank itself may use LCI");
    }
    if (broken_) throw bootstrap_error(who + "the session has failed before: " + failure());
    try {
      std::forward<F>(body)();
    } catch (const bootstrap_error& error) {
      broken_ = true;
      failure() = who + error.what();
      throw bootstrap_error(failure());
    }
  }

 private:
  /// Why the process's one session broke, if it did.
  static std::string& failure() {
    static std::string text;
    return text;
  }

  const char* const kind_;
  const pid_t owner_ = getpid();
  bool broken_ = false;
  std::string where_;
  int rank_ = -1, size_ = -1;
};

}  // namespace lci::network
