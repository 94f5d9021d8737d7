// Threads of the library that make progress while the program does something else.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "lci/operations.hpp"
#include "lib/base/objects.hpp"

namespace lci::core {

class device;

/// One thread of the operating system, from construction to destruction; and what it serves.
class progress_worker {
 public:
  /// Devices stay alive, and are marked by their owner. One device only if `mode` sleeps, since each
  /// has a place of its own to sleep at. Throws resource_error if there is no thread to be had,
  /// invalid_argument_error if it can't run on processor `cpu` (negative: where the caller may).
  progress_worker(std::vector<device*> devices, progress_mode_t mode, int cpu);
  /// Waits for the round under way.
  ~progress_worker();
  progress_worker(const progress_worker&) = delete;
  progress_worker& operator=(const progress_worker&) = delete;

  bool serves(const device* d) const { return devices_.front() == d; }

 private:
  void run();
  bool round();
  void park(int64_t& slice_us);
  void stop();
  void bind_to(int cpu);

  const std::vector<device*> devices_;
  const progress_mode_t mode_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: begins when all else is there
};

/// The resource. Thread-safe except for destruction; never to be changed inside a handler, which may
/// run in a thread that would have to wait for itself. Does not own the devices.
class progress_thread : public object_memory<progress_thread, true> {
 public:
  explicit progress_thread(const progress_thread_attr_t& a) : attr(a) {}
  ~progress_thread();
  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

  /// Throws invalid_argument_error if a progress thread serves the device already.
  void add(const char* operation, device& d);
  /// Afterwards no thread of this object is inside the device. False if it was not served by it.
  bool remove(device& d);

  const progress_thread_attr_t attr;

 private:
  void start(device& d);
  void stop(device& d);
  void replace(std::vector<device*> devices);

  std::mutex mutex_;
  std::vector<device*> devices_;                           // under mutex_
  std::vector<std::unique_ptr<progress_worker>> workers_;  // under mutex_
};

}  // namespace lci::core
