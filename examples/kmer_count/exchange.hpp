// All communication by LCI: devices, sending and receiving of batches, control messages.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "lci.hpp"
#include "options.hpp"
#include "receiver.hpp"
#include "worker.hpp"

namespace kmer_count {

/// Sends batches of k-mers by active messages, over a device for each thread (or one for all). Batches are received by
/// a handler in place, or through a completion queue for each thread. Devices with the same index are paired, so all
/// ranks must have the same number of threads. Only one object may exist at a time, since handlers are plain functions.
///
/// Owns the devices and completion objects. The main thread constructs it and calls set_receiver(), finish() and
/// progress_all(); the functions with a worker are called by that worker's thread, by all threads concurrently.
class exchange {
 public:
  /// Starts LCI. No message is received before set_receiver().
  explicit exchange(const program_options& options);
  /// Ends LCI; finish() must have been called before.
  ~exchange();
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  /// Ends the process with an error, without finalizing LCI: the other ranks may be in the middle of an operation, and
  /// the launcher ends them.
  [[noreturn]] void fail(const char* what) const;

  int rank() const { return rank_; }
  int nranks() const { return nranks_; }
  size_t batch_capacity() const { return batch_capacity_; }  // k-mers
  size_t max_control_size() const { return max_eager_; }

  void set_receiver(receiver* r) { receiver_ = r; }

  /// Makes `w` the calling thread's worker.
  void attach(worker& w);

  /// Sends a batch and returns it to its pool when the send is complete. Makes progress while LCI returns `retry`.
  void send_batch(worker& w, int rank, size_t traversal, batch* b);
  /// Sends a few bytes to the target's on_control().
  void send_control(worker& w, int rank, const void* bytes, size_t size);

  /// Handles messages on the worker's device. Returns true if there were any.
  bool progress(worker& w);
  /// The same on all devices, after other threads have ended.
  bool progress_all(worker& w);

  /// Waits until LCI no longer uses this rank's memory. All ranks must have sent their last message.
  void finish(worker& w);

 private:
  static void on_batch(lci::status_t status);
  static void on_control(lci::status_t status);
  static void on_sent(lci::status_t status);

  lci::device_t device_of(const worker& w) const { return devices_[w.index % devices_.size()]; }
  lci::rcomp_t batch_target(const worker& w) const { return batch_rcomps_[w.index % batch_rcomps_.size()]; }
  bool progress(worker& w, lci::device_t device);
  bool pop_queue(worker& w, lci::comp_t queue);

  static exchange* current_;
  static thread_local worker* this_worker_;

  receiver* receiver_ = nullptr;
  int rank_ = 0, nranks_ = 1;
  size_t batch_capacity_ = 0, max_eager_ = 0;
  bool own_devices_ = false;
  std::vector<lci::device_t> devices_;
  std::vector<lci::comp_t> batch_comps_;  // one handler, or a queue for each thread
  std::vector<lci::rcomp_t> batch_rcomps_;
  bool queues_ = false;
  lci::comp_t control_comp_, sent_comp_;
  lci::rcomp_t control_rcomp_ = 0;
  std::atomic<uint64_t> in_flight_{0};  // batches whose memory LCI still reads
};

}  // namespace kmer_count
