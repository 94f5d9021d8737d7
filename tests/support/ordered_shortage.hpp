// One process of a test orders when allocations of another one fail, through a file that both map: messages would need
// memory. Of a job that lcirun has started on one host.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/support/failing_memory.hpp"

namespace lci_test {

class ordered_shortage {
 public:
  /// Both call it, then meet, then call use().
  explicit ordered_shortage(const char* name)
      : path_("/tmp/lci-" + std::string(name) + "-" + std::to_string(getppid())) {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT, 0600);
    void* const at = file < 0 || ftruncate(file, sizeof(board)) != 0
                         ? MAP_FAILED
                         : mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
      std::perror(path_.c_str());
      std::exit(2);
    }
    close(file);
    board_ = static_cast<board*>(at);
  }
  void use() { unlink(path_.c_str()); }

  /// Has allocations of the other process fail, as failing_memory does. Returns when they will.
  void begin(long good, long bad) { order(good, bad); }
  /// Has none fail. Returns how many have failed since begin().
  long end() {
    order(-1, 0);
    return board_->failures;
  }
  /// Ends obey().
  void dismiss() { order(-2, 0); }

  /// The other process: obeys, and calls `meanwhile` again and again.
  template <class F>
  void obey(F meanwhile) {
    std::optional<failing_memory> shortage;
    for (int obeyed = 0;; meanwhile()) {
      if (board_->number == obeyed) continue;
      board_->failures = shortage ? failing_memory::failures() : 0;
      shortage.reset();
      const long good = board_->good;
      if (good >= 0) shortage.emplace(0, good, board_->bad.load());
      board_->done = ++obeyed;
      if (good == -2) return;
    }
  }

 private:
  /// Zero in a new file.
  struct board {
    std::atomic<int> number, done;
    std::atomic<long> good, bad, failures;
  };
  void order(long good, long bad) {
    board_->good = good;
    board_->bad = bad;
    const int number = ++board_->number;
    while (board_->done < number) usleep(20);
  }

  const std::string path_;
  board* board_ = nullptr;
};

/// Calls `once(good)`, during which allocations after the first `good` fail, until it returns that none has failed.
template <class F>
void sweep_allocations(F once) {
  for (long good = 0; good < 300; ++good)
    if (once(good) == 0) return;
}

}  // namespace lci_test
