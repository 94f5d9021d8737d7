// Everything that talks to LCI: devices, batches out and in, control messages.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "lci.hpp"
#include "options.hpp"
#include "receiver.hpp"
#include "worker.hpp"

namespace kmer_count {

/// LCI as this program uses it: active messages, a device for each thread (or one for all), batches
/// received by a handler where they arrived, or through a completion queue for each thread. Devices
/// of equal index talk to each other, so a rank must have as many threads as the others. One object
/// at a time, as handlers are plain functions.
class exchange {
 public:
  /// Starts LCI. Nothing is received before set_receiver().
  explicit exchange(const program_options& options);
  /// Ends LCI; finish() must have been called.
  ~exchange();
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  /// Ends the process with an error, without LCI's farewell: the other ranks may be in the middle
  /// of something, and the launcher ends them.
  [[noreturn]] void fail(const char* what) const;

  int rank() const { return rank_; }
  int nranks() const { return nranks_; }
  size_t batch_capacity() const { return batch_capacity_; }  // k-mers
  size_t max_control_size() const { return max_eager_; }

  void set_receiver(receiver* r) { receiver_ = r; }

  /// The calling thread is this worker from now on.
  void attach(worker& w);

  /// Sends a batch; it goes back to its pool when that is done. Makes progress while LCI lacks
  /// resources.
  void send_batch(worker& w, int rank, size_t traversal, batch* b);
  /// Sends a few bytes to on_control().
  void send_control(worker& w, int rank, const void* bytes, size_t size);

  /// Handles what has arrived on the worker's device. True if there was something.
  bool progress(worker& w);
  /// The same on all devices, when other threads have ended.
  bool progress_all(worker& w);

  /// Waits until LCI needs none of this rank's memory any more. All ranks must be past their last
  /// message.
  void finish(worker& w);

 private:
  static void on_batch(lci::status_t status);
  static void on_control(lci::status_t status);
  static void on_sent(lci::status_t status);

  lci::device_t device_of(const worker& w) const { return devices_[w.index % devices_.size()]; }
  lci::rcomp_t batch_target(const worker& w) const {
    return batch_rcomps_[w.index % batch_rcomps_.size()];
  }
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
