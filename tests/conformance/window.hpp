// Memory that all ranks may put to and get from.
#pragma once

#include "tests/conformance/pattern.hpp"

namespace conf {

/// Memory of this rank, registered with one or more of its devices, and the keys to everybody's.
/// Made and ended by all ranks.
class window {
 public:
  window(rank_env& env, size_t size) : window(env, size, {env.device}) {}
  window(rank_env& env, size_t size, const std::vector<lci::device_t>& devices)
      : env_(env), memory_(size, '\x5a') {
    for (const auto d : devices) {
      mrs_.push_back(lci::register_memory_x(memory_.data(), size).device(d).runtime(env.rt)());
      rmrs_.push_back(env.all_gather(lci::get_rmr_x(mrs_.back()).runtime(env.rt)()));
    }
  }
  ~window() {
    for (auto& mr : mrs_) lci::deregister_memory_x(&mr).runtime(env_.rt)();
  }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  char* data() { return memory_.data(); }
  size_t size() const { return memory_.size(); }
  /// The key to a rank's window for use on the n-th of the devices.
  lci::rmr_t of(int rank, size_t device = 0) const {
    return rmrs_[device][static_cast<size_t>(rank)];
  }
  /// Whether all but the given range is as it was at first.
  bool untouched_but(size_t from, size_t size) const {
    for (size_t i = 0; i < memory_.size(); ++i)
      if ((i < from || i >= from + size) && memory_[i] != '\x5a') return false;
    return true;
  }
  void clear() { memory_.assign(memory_.size(), '\x5a'); }

 private:
  rank_env& env_;
  std::vector<char> memory_;
  std::vector<lci::mr_t> mrs_;                 // by device
  std::vector<std::vector<lci::rmr_t>> rmrs_;  // by device, by rank
};

/// Waits until an operation posted with `sync` as its completion object has ended.
inline lci::status_t finished(rank_env& env, lci::comp_t sync, lci::status_t s) {
  if (!s.is_done())
    env.until("an operation to end", [&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
  return s;
}

}  // namespace conf
