// What a thread does while it waits for the launcher. Ranks come to a fence when they have received what they need, and
// that may be a message which this rank has yet to send.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lci::network {

/// Does a part of the work, and returns whether any is left. Never throws, and does not use the bootstrap.
using work_of_waits = bool (*)();

/// As long as it exists, the waits of this thread do the work. They do nothing else by default.
class works_meanwhile {
 public:
  explicit works_meanwhile(work_of_waits work);
  ~works_meanwhile();
  works_meanwhile(const works_meanwhile&) = delete;
  works_meanwhile& operator=(const works_meanwhile&) = delete;
};

/// A wait calls this first, and again after `longest_nap` as long as it returns true.
bool work_meanwhile();
constexpr auto longest_nap = std::chrono::milliseconds(1);

/// Waits until `ready()`, at most `timeout` seconds (0: for ever). False: time ran out.
template <class Ready>
bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, double timeout, Ready ready) {
  using clock = std::chrono::steady_clock;
  const auto longest = std::chrono::duration<double>(timeout > 0 ? std::min(timeout, 1e9) : 1e9);
  const auto end = clock::now() + std::chrono::duration_cast<clock::duration>(longest);
  while (!ready() && clock::now() < end) {
    lock.unlock();
    const bool more = work_meanwhile();
    lock.lock();
    changed.wait_until(lock, more ? std::min(end, clock::now() + longest_nap) : end, ready);
  }
  return ready();
}

}  // namespace lci::network
