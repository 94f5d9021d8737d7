// The two sides of the comparison: equal loops over the core's interface and over LCI v1.7's.
#pragma once

#include <lci.h>

#include <cstddef>
#include <lci.hpp>
#include <vector>

/// Owns the core's default runtime and the state of LCI v1.7. Thread-bound. Each function returns the figure at rank 0,
/// and an unspecified value at rank 1.
class sides {
 public:
  bool open();
  void close();

  double core_latency(size_t n);
  double v1_latency(size_t n);
  double core_rate(size_t n, size_t size);
  double v1_puts_rate(size_t n);
  double core_send_rate(size_t n, size_t size);
  double v1_sends_rate(size_t n);
  double v1_sendm_rate(size_t n, size_t size);
  double core_queue_rate(size_t n, size_t size);
  double v1_putma_rate(size_t n, size_t size);
  double core_send_bandwidth(size_t n, size_t size);
  double v1_sendl_bandwidth(size_t n, size_t size);
  double core_put_bandwidth(size_t n, size_t size);
  double v1_putl_bandwidth(size_t n, size_t size);
  double core_am_bandwidth(size_t n, size_t size);
  double v1_putla_bandwidth(size_t n, size_t size);

 private:
  /// Millions of sends per second: `send()` at one side, `receive(at)` with v1_syncs_[at] at the other.
  template <class Send, class Receive>
  double v1_matched_rate(size_t n, Send send, Receive receive);

  static constexpr size_t window = 64;  // receives posted, or long messages outstanding, at a time
  static constexpr size_t largest = 1 << 20;

  template <class F>
  double timed(F loop);
  template <class Post, class Progress, class Ended>
  double stream_of_long(size_t n, size_t size, Post post, Progress progress, Ended ended);

  bool is_sender() const { return LCI_RANK == 0; }

  lci::device_t device_;
  lci::comp_t handler_, queue_, counter_;
  lci::rcomp_t to_handler_ = 0, to_queue_ = 0;
  std::vector<lci::comp_t> core_syncs_;
  lci::mr_t memory_;
  lci::rmr_t peer_memory_;

  LCI_endpoint_t to_v1_handler_ = nullptr, to_v1_queue_ = nullptr;
  LCI_comp_t v1_handler_ = nullptr, v1_queue_ = nullptr, ended_ = nullptr;
  std::vector<LCI_comp_t> v1_syncs_;
  LCI_segment_t v1_memory_ = nullptr, v1_peer_memory_ = nullptr;
  char* buffer_ = nullptr;
  char* peer_buffer_ = nullptr;
};
