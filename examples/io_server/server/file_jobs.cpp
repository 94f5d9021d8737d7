#include "file_jobs.hpp"

#include <sched.h>

#include <cerrno>
#include <chrono>
#include <exception>

#include "file_data.hpp"

namespace io_server {

namespace {
/// Time for which the transferring thread waits without sleeping: a piece takes less, a wake-up as long.
constexpr std::chrono::microseconds awake{200};
}  // namespace

file_jobs::~file_jobs() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void file_jobs::begin(const open_file& file, bool writes) {
  const std::lock_guard guard(mutex_);
  file_ = &file;
  writes_ = writes;
  cut_ = false;
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception&) {  // no thread or no memory: finish() does without it
  }
}

void file_jobs::add(job* j) {
  {
    const std::lock_guard guard(mutex_);
    at(added_++) = {j, false};
  }
  changed_.notify_all();
}

bool file_jobs::may_begin() const { return begun_ < added_ && !(writes_ && running_ > 0); }

void file_jobs::execute(std::unique_lock<std::mutex>& lock) {
  entry& e = at(begun_++);
  job& j = *e.what;
  if (cut_) {
    j.done = 0;
  } else {
    ++running_;
    lock.unlock();
    j.done = writes_ ? write_part(*file_, j.memory, j.size, j.offset, false)
                     : read_part(file_->fd.get(), j.memory, j.size, j.offset);
    j.error = j.done < 0 ? errno : 0;
    lock.lock();
    --running_;
    if (writes_ && (j.done < 0 || static_cast<size_t>(j.done) < j.size)) cut_ = true;
  }
  e.over = true;
  changed_.notify_all();
}

void file_jobs::run() {
  std::unique_lock lock(mutex_);
  while (!stops_) {
    if (may_begin())
      execute(lock);
    else
      changed_.wait(lock);
  }
}

bool file_jobs::is_ready() {
  const std::lock_guard guard(mutex_);
  return finished_ < added_ && at(finished_).over;
}

void file_jobs::finish() {
  using clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  const auto until = clock::now() + awake;
  while (!at(finished_).over) {
    if (may_begin()) {
      execute(lock);
    } else if (clock::now() < until) {
      lock.unlock();
      sched_yield();
      lock.lock();
    } else {
      changed_.wait(lock);
    }
  }
  ++finished_;
}

void file_jobs::end() {
  std::unique_lock lock(mutex_);
  added_ = begun_;
  changed_.wait(lock, [this] { return running_ == 0; });
  finished_ = begun_;
}

}  // namespace io_server
