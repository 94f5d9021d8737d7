// A file through which processes that share only a folder become the ranks of a job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lci::network {

/// One file that all ranks read and write, protected by a lock of its first byte. Each rank also holds a lock of one
/// further byte while it lives, by which the others detect that it is alive; the system releases that lock when the
/// rank dies, on shared file systems too. Must be used by one thread only. Throws bootstrap_error.
class job_file {
 public:
  /// Joins the job of `n_ranks` in the file `path`. Starts a new job if there is no file, or if all ranks in the file
  /// are dead. If the file's job is complete, waits up to `timeout` seconds (0: for ever) for it to end.
  job_file(const std::string& path, int n_ranks, double timeout);
  /// Leaves the job; the last rank that leaves removes the file.
  ~job_file();
  job_file(const job_file&) = delete;
  job_file& operator=(const job_file&) = delete;

  int rank() const { return rank_; }
  std::string job_id() const;

  /// Collective. Gives `data` to all others, and waits until all ranks have called this as often as this one. Returns
  /// what all ranks, this one included, have given since the last call, in the order in which it was written.
  std::string share(const std::string& data);
  /// The others are notified at their next exchange.
  void abort(int code);
  /// For a process forked off the rank: closes the file without leaving the job.
  void abandon();

 private:
  struct header;
  class locked;
  void open();
  bool try_join();
  bool alive(int rank) const;
  std::vector<int> late(const std::vector<uint32_t>& rounds) const;
  void check(const header& h) const;
  /// Calls `over` until it returns true; throws with the text of `missing` when the timeout expires.
  void wait(const std::function<bool()>& over, const std::function<std::string()>& missing) const;

  const std::string path_;
  const int n_ranks_;
  const double timeout_;
  int fd_ = -1;
  int rank_ = -1;
  uint64_t job_[2] = {};
  uint32_t round_ = 0;    // exchanges that this rank has begun
  uint64_t read_to_ = 0;  // end of the data that this rank has read
};

}  // namespace lci::network
