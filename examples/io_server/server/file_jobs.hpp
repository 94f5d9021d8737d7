// Reads and writes of pieces of a file beside their transfer.
#pragma once

#include <sys/types.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

#include "session.hpp"

namespace io_server {

/// Two threads execute the jobs: one of this object, and the thread that transfers the pieces over a network, whenever
/// it needs a result that is not there yet. So jobs don't wait for the other thread while all processors are busy.
/// Reads may overlap. Writes are executed one at a time, in order; the first one that is incomplete ends them. Only the
/// thread that transfers calls the member functions.
class file_jobs {
 public:
  static constexpr size_t most = 8;  ///< jobs at a time

  struct job {
    char* memory = nullptr;
    size_t size = 0;
    off_t offset = 0;
    ssize_t done = 0;  ///< bytes; -1: see `error`
    int error = 0;
  };

  file_jobs() = default;
  ~file_jobs();
  file_jobs(const file_jobs&) = delete;
  file_jobs& operator=(const file_jobs&) = delete;

  /// Begins a series of reads or writes of a file, which must exist until end().
  void begin(const open_file& file, bool writes);
  /// At most `most` may be unfinished. The job must exist until it is finished or end() has returned. Jobs are finished
  /// in the order of these calls.
  void add(job* j);
  /// Returns whether the oldest job has been executed.
  bool is_ready();
  /// Waits until the oldest job has been executed, and removes it.
  void finish();
  /// Drops the jobs that have not begun, and waits for the others.
  void end();

 private:
  struct entry {
    job* what = nullptr;
    bool over = false;
  };

  void run();
  bool may_begin() const;  // under mutex_, as the next two
  entry& at(size_t number) { return entries_[number % most]; }
  void execute(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<entry, most> entries_{};  // by the number of the job
  // Numbers of jobs: those below have been finished, begun, added.
  size_t finished_ = 0, begun_ = 0, added_ = 0;
  int running_ = 0;
  const open_file* file_ = nullptr;
  bool writes_ = false, cut_ = false, stops_ = false;
  std::thread thread_;
};

}  // namespace io_server
