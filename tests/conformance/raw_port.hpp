// Polls the statuses of raw network operations on a device.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"

namespace conf {

/// Keeps the statuses that were polled and not taken yet. Used by one thread of the rank at a time.
class raw_port {
 public:
  explicit raw_port(rank_env& env) : raw_port(env, env.device) {}
  raw_port(rank_env& env, lci::device_t device) : env_(env), device_(device) {}

  void poll(size_t max = 32) {
    std::vector<lci::net_status_t> taken(max);
    const size_t n = lci::net_poll_cq_x(max, taken.data()).runtime(env_.rt).device(device_)();
    if (n > max) env_.fail(__FILE__, __LINE__, "more statuses than asked for");
    polled.insert(polled.end(), taken.begin(), taken.begin() + static_cast<ptrdiff_t>(n));
  }

  /// Waits for a status with this opcode and removes it from those that were polled.
  lci::net_status_t next(lci::net_opcode_t opcode) {
    lci::net_status_t found;
    env_.until(device_, "a raw status", [&] {
      poll();
      const auto at = std::find_if(polled.begin(), polled.end(), [&](const auto& s) { return s.opcode == opcode; });
      if (at == polled.end()) return false;
      found = *at;
      polled.erase(at);
      return true;
    });
    return found;
  }

  /// Returns whether no status is left and further polls return none.
  bool quiet() {
    for (int i = 0; i < 50; ++i) poll();
    return polled.empty();
  }

  /// Calls `f` (a raw post) until it no longer returns retry.
  template <class F>
  lci::error_t post(F&& f) {
    lci::error_t e;
    env_.until(device_, "a raw post to be accepted", [&] { return !(e = f()).is_retry(); });
    return e;
  }

  std::vector<lci::net_status_t> polled;

 private:
  rank_env& env_;
  lci::device_t device_;
};

}  // namespace conf
