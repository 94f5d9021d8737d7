// Checks that all ranks make the same collective calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "lci/completion.hpp"
#include "lci/errors.hpp"
#include "lib/core/match/matching_engine.hpp"

namespace lci::core {

class device;
class runtime;

/// Ranks make different collective calls, so none of these calls can end.
class unequal_calls_error final : public invalid_argument_error {
 public:
  using invalid_argument_error::invalid_argument_error;
};

/// Each rank sends a description of its call to its neighbours, the ranks one before and one after it, and compares
/// theirs with its own. If any two ranks differ, so do two neighbours, and both of these throw
/// unequal_calls_error out of their next progress(). No rank waits for the comparison, so a check can't make a
/// correct program hang. Thread-safe.
class collective_check {
 public:
  explicit collective_check(runtime& rt);
  ~collective_check();

  /// Compares the next collective call on this device, described by `what`, with the neighbours'.
  void compare(device& d, const std::string& what);

  /// Matches the messages; has a reserved id, as the engine of raw messages has.
  matching_engine engine;

 private:
  class comparison;
  class outgoing;
  void forget(comparison* c);
  void send(device& d, int neighbour, tag_t tag, const std::string& mine);
  void expect(device& d, int from, tag_t tag, const std::string& mine, uint64_t number);

  runtime& rt_;
  std::mutex mutex_;
  std::map<int, uint64_t> calls_;              // by the device's uid; under mutex_
  std::unordered_set<comparison*> under_way_;  // under mutex_
};

}  // namespace lci::core
