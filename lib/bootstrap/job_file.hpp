// A file by which processes that share a folder, and nothing else, become the ranks of a job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lci::network {

/// What all ranks read and write is one file, under a lock of its first byte. Each rank holds a lock of a further
/// byte as long as it lives, by which the others see that it does; the system gives it back when it dies, on shared
/// file systems, too. Thread-bound. Throws bootstrap_error.
class job_file {
 public:
  /// Joins the job of `n_ranks` in the file `path`, or begins it where there is none, or one whose ranks are all
  /// gone. Waits up to `timeout` seconds (0: for ever) for a job that is full, to end.
  job_file(const std::string& path, int n_ranks, double timeout);
  /// Leaves the job; the last one removes the file.
  ~job_file();
  job_file(const job_file&) = delete;
  job_file& operator=(const job_file&) = delete;

  int rank() const { return rank_; }
  std::string job_id() const;

  /// Gives `data` to all others, and waits until all have called this as often as this rank. Returns what they have
  /// given since the last call, this rank's included, in the order in which it came.
  std::string share(const std::string& data);
  /// The others find out when they exchange something.
  void abort(int code);
  /// In a process that was forked off the rank: touches nothing of the job.
  void abandon();

 private:
  struct header;
  class locked;
  void open();
  bool try_join();
  bool alive(int rank) const;
  std::vector<int> late(const std::vector<uint32_t>& rounds) const;
  void check(const header& h) const;
  /// Calls `over` until it says true; else throws with what `missing` says when time is up.
  void wait(const std::function<bool()>& over, const std::function<std::string()>& missing) const;

  const std::string path_;
  const int n_ranks_;
  const double timeout_;
  int fd_ = -1;
  int rank_ = -1;
  uint64_t job_[2] = {};
  uint32_t round_ = 0;   // exchanges that this rank has begun
  uint64_t read_to_ = 0;  // of the data
};

}  // namespace lci::network
