// What a thread does while it waits for the launcher. Ranks come to a fence when they have received what they need, and
// that may be a message which this rank has yet to send.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lci::network {

/// Does a part of some work, and returns whether any of it is left. Must not throw, and must not use the bootstrap.
using work_of_waits = bool (*)();

/// While such an object exists, each wait of its thread for the launcher calls the function that the object was made
/// with.
class works_meanwhile {
 public:
  explicit works_meanwhile(work_of_waits work);
  ~works_meanwhile();
  works_meanwhile(const works_meanwhile&) = delete;
  works_meanwhile& operator=(const works_meanwhile&) = delete;
};

/// Calls that function, if there is one, and returns its result. A wait for the launcher calls this before it sleeps,
/// and sleeps at most `longest_nap` at a time as long as the result is true.
bool work_meanwhile();
constexpr auto longest_nap = std::chrono::milliseconds(1);

/// Waits until `ready()`, at most `timeout` seconds (0: for ever). Returns false if the time is over.
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
