// Helpers shared by the tests of cancelled operations.
#pragma once

#include "tests/conformance/window.hpp"

namespace conf {

/// Size in bytes of a message that waits for a matching receive.
inline size_t rendezvous_size(rank_env& env) { return 40 * lci::get_max_bcopy_size_x().runtime(env.rt)(); }

inline void drain(rank_env& env) {
  env.until("the device to be drained", [&] { return lci::test_drained_x().runtime(env.rt)().is_done(); });
}

inline bool ended_early(const lci::status_t& s) {
  return s.error == lci::errorcode_t::cancelled || s.error == lci::errorcode_t::timed_out;
}

/// A completion queue whose statuses are looked up by tag or context.
class end_queue {
 public:
  explicit end_queue(rank_env& env) : env_(env), comp_(lci::alloc_cq_x().runtime(env.rt)()) {}
  ~end_queue() { lci::free_comp_x(&comp_).runtime(env_.rt)(); }
  end_queue(const end_queue&) = delete;
  end_queue& operator=(const end_queue&) = delete;
  lci::comp_t comp() const { return comp_; }
  lci::status_t next() {
    lci::status_t s;
    env_.until("an operation to end", [&] { return !(s = lci::cq_pop_x(comp_).runtime(env_.rt)()).is_retry(); });
    return s;
  }
  bool empty_now() { return lci::cq_pop_x(comp_).runtime(env_.rt)().is_retry(); }
  /// Returns whether no further status arrives during some more rounds of progress.
  bool empty() {
    // Beside programs that compute, each yield of env_.progress() costs their time slice.
    for (int i = 0; i < 100; ++i) i % 25 == 0 ? env_.progress() : (void)lci::progress_x().runtime(env_.rt)();
    return empty_now();
  }

 private:
  rank_env& env_;
  lci::comp_t comp_;
};

}  // namespace conf
