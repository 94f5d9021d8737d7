// Memory that all ranks may put to and get from.
#pragma once

#include <cstdlib>

#include "tests/conformance/pattern.hpp"

namespace conf {

/// Memory of this rank, registered with one or more of its devices, and the remote keys of all ranks. Constructed
/// and destroyed by all ranks. If LCI_TEST_SHARED_WINDOWS is set, the memory is allocated from the heap that ranks
/// of a host share; tests must pass with it unchanged.
class window {
 public:
  window(rank_env& env, size_t size) : window(env, size, {env.device}) {}
  /// `never_shared`: not from that heap. For tests that read the memory while others write to it: plain copies by
  /// other ranks would be data races with such loads.
  window(rank_env& env, size_t size, const std::vector<lci::device_t>& devices, bool never_shared = false)
      : env_(env), size_(size), shared_(!never_shared && std::getenv("LCI_TEST_SHARED_WINDOWS") != nullptr) {
    if (shared_) {
      mrs_.push_back(lci::alloc_shared_x(size_).device(devices.front()).runtime(env.rt)());
      data_ = static_cast<char*>(lci::get_mr_base_x(mrs_.front()).runtime(env.rt)());
    } else {
      memory_.resize(size);
      data_ = memory_.data();
    }
    clear();
    for (const auto d : devices) {
      if (!shared_ || d.p_impl != devices.front().p_impl)
        mrs_.push_back(lci::register_memory_x(data_, size).device(d).runtime(env.rt)());
      rmrs_.push_back(env.all_gather(lci::get_rmr_x(mrs_.back()).runtime(env.rt)()));
    }
  }
  ~window() {
    for (size_t i = mrs_.size(); i-- > 0;)
      if (shared_ && i == 0)
        lci::free_shared_x(&mrs_[i]).runtime(env_.rt)();
      else
        lci::deregister_memory_x(&mrs_[i]).runtime(env_.rt)();
  }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  char* data() { return data_; }
  size_t size() const { return size_; }
  /// The remote key of a rank's window, for use on the n-th device.
  lci::rmr_t of(int rank, size_t device = 0) const { return rmrs_[device][static_cast<size_t>(rank)]; }
  /// Returns whether all bytes outside of the given range have their initial value.
  bool untouched_but(size_t from, size_t size) const {
    for (size_t i = 0; i < size_; ++i)
      if ((i < from || i >= from + size) && data_[i] != '\x5a') return false;
    return true;
  }
  void clear() { std::memset(data_, '\x5a', size_); }

 private:
  rank_env& env_;
  const size_t size_;
  const bool shared_;
  char* data_ = nullptr;
  std::vector<char> memory_;                   // empty if the memory is shared
  std::vector<lci::mr_t> mrs_;                 // by device
  std::vector<std::vector<lci::rmr_t>> rmrs_;  // by device, by rank
};

/// Waits until an operation that was posted with the completion object `sync` has completed.
inline lci::status_t finished(rank_env& env, lci::comp_t sync, lci::status_t s) {
  if (!s.is_done()) env.until("an operation to end", [&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
  return s;
}

}  // namespace conf
