#include "tests/support/watchdog.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/support/testing.hpp"

namespace lci_test {

watchdog::watchdog() : thread_([this] { run(); }) {}

watchdog::~watchdog() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void watchdog::watch(const std::string& test, int seconds) {
  std::lock_guard lock(mutex_);
  test_ = test;
  seconds_ = seconds;
  watching_ = true;
  deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  changed_.notify_one();
}

void watchdog::rest() {
  std::lock_guard lock(mutex_);
  watching_ = false;
  changed_.notify_one();
}

void watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!watching_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() < deadline_) {
      changed_.wait_until(lock, deadline_);
    } else {
      std::fprintf(stderr, "HUNG: rank %d: test '%s' was still running after %d s; process %d ends\n", process_rank(),
                   test_.c_str(), seconds_, static_cast<int>(getpid()));
      std::fflush(stderr);
      std::signal(SIGABRT, SIG_DFL);  // Catch2's handler would wait for the main thread
      std::abort();
    }
  }
}

}  // namespace lci_test
