// Memory that all ranks may put to and get from.
#pragma once

#include "tests/conformance/pattern.hpp"

namespace conf {

/// Registered memory of this rank and the keys to everybody's. Made and ended by all ranks.
class window {
 public:
  window(rank_env& env, size_t size)
      : env_(env),
        memory_(size, '\x5a'),
        mr_(lci::register_memory_x(memory_.data(), size).runtime(env.rt)()),
        rmrs_(env.all_gather(lci::get_rmr_x(mr_).runtime(env.rt)())) {}
  ~window() { lci::deregister_memory_x(&mr_).runtime(env_.rt)(); }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  char* data() { return memory_.data(); }
  size_t size() const { return memory_.size(); }
  lci::mr_t mr() const { return mr_; }
  lci::rmr_t of(int rank) const { return rmrs_[static_cast<size_t>(rank)]; }
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
  lci::mr_t mr_;
  std::vector<lci::rmr_t> rmrs_;
};

/// Waits until an operation posted with `sync` as its completion object has ended.
inline lci::status_t finished(rank_env& env, lci::comp_t sync, lci::status_t s) {
  if (!s.is_done())
    env.until("an operation to end", [&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
  return s;
}

}  // namespace conf
