// Whether all ranks make the same collective calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "lci/completion.hpp"
#include "lib/core/match/matching_engine.hpp"

namespace lci::core {

class device;
class runtime;

/// Each rank tells its neighbours, the ranks one before and one after it, what it calls, and compares what
/// they tell. If two ranks differ, so do two neighbours somewhere, and both of those throw
/// invalid_argument_error out of their next progress(). Nothing is waited for, so a check ends no program that
/// is right. Thread-safe.
class collective_check {
 public:
  explicit collective_check(runtime& rt);
  ~collective_check();

  /// The next collective call on this device is `what`.
  void compare(device& d, const std::string& what);

  /// In which the messages meet; under a number of its own, like that of raw messages.
  matching_engine engine;

 private:
  class comparison;
  class telling;
  void forget(comparison* c);
  void tell(device& d, int neighbour, tag_t tag, const std::string& mine);
  void expect(device& d, int from, tag_t tag, const std::string& mine, uint64_t number);

  runtime& rt_;
  std::mutex mutex_;
  std::map<int, uint64_t> calls_;             // by the device's uid; under mutex_
  std::unordered_set<comparison*> under_way_;  // under mutex_
};

}  // namespace lci::core
