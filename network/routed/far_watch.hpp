// Wakes the progress thread of a device of two networks for events of the far one: its sleep is the near one's.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "lib/concurrent/parking.hpp"
#include "network/fabric.hpp"

namespace lci::network::routed {

/// A thread that sleeps in the far device's park() as long as it is armed. An event disarms it, so that it sleeps on
/// while others poll the far device, and ends the near device's park(). Made by the first arm(): a device without a
/// progress thread has none.
class far_watch {
 public:
  /// Both devices must exist longer than this object.
  far_watch(device& near, device& far) : near_(near), far_(far) {}
  ~far_watch();
  far_watch(const far_watch&) = delete;
  far_watch& operator=(const far_watch&) = delete;

  /// Called by the progress thread before it sleeps: from now on an event of the far device ends its sleep, or the next
  /// one. False if there can be no such thread.
  bool arm();

 private:
  enum state : uint32_t { idle, armed, stopped };
  bool start();
  void run();
  /// Until the far device has an event.
  void sleep();

  device &near_, &far_;
  /// Written by arm() (idle to armed), by the thread (armed to idle) and by the destructor (to stopped); slept on.
  std::atomic<uint32_t> state_{idle};
  bool tried_ = false;  // whether start() was called; by the progress thread alone
  std::thread thread_;
};

}  // namespace lci::network::routed
