// Aborts a process whose test hangs, and names the test.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace lci_test {

/// One per process. It owns a thread, which only sleeps. watch() and rest() are called by the main thread.
class watchdog {
 public:
  watchdog();
  ~watchdog();

  /// From now on the process must call watch() or rest() within `seconds`.
  void watch(const std::string& test, int seconds);
  void rest();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string test_;  // guarded by mutex_, as the members up to deadline_
  int seconds_ = 0;
  bool watching_ = false;
  bool stop_ = false;
  std::chrono::steady_clock::time_point deadline_;
  std::thread thread_;
};

}  // namespace lci_test
