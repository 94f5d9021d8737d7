// Threads of the library that make progress.
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

/// One thread of the operating system, from construction to destruction, and the devices it serves.
class progress_worker {
 public:
  /// Does not own the devices; the caller keeps them alive and sets their `service`. A mode that sleeps allows one
  /// device only, since a thread sleeps in one device's park(). Throws resource_error if no thread can be created,
  /// invalid_argument_error if it can't run on processor `cpu` (negative: the caller's processors).
  progress_worker(std::vector<device*> devices, progress_mode_t mode, int cpu);
  /// Waits until the thread has finished its current round.
  ~progress_worker();
  progress_worker(const progress_worker&) = delete;
  progress_worker& operator=(const progress_worker&) = delete;

  bool serves(const device* d) const { return devices_.front() == d; }

 private:
  void run();
  bool round();
  void park(int64_t& slice_us);
  /// Returns true if the program polls the device itself: then the thread has slept for some time, beside the network.
  bool stand_aside();
  void stop();
  void bind_to(int cpu);

  const std::vector<device*> devices_;
  const progress_mode_t mode_;
  int64_t aside_us_;  // the next sleep of stand_aside()
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: starts when all other members are initialized
};

/// The object behind a progress_thread_t: its operating system threads, and the devices that they serve. Owned by the
/// program, or by the runtime with the attribute `progress_thread`. Does not own the devices. Thread-safe except for
/// destruction. Must not be changed inside a handler, which may run in a progress thread, which would then wait for
/// itself.
class progress_thread : public object_memory<progress_thread, true> {
 public:
  explicit progress_thread(const progress_thread_attr_t& a) : attr(a) {}
  ~progress_thread();
  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

  /// Throws invalid_argument_error if a progress thread already serves the device.
  void add(const char* operation, device& d);
  /// Afterwards no thread of this object is inside the device. Returns false if this object did not serve the device.
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
