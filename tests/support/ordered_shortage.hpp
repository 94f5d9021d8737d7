// One process of a test decides when allocations of another one fail. It tells it through a file that both map, as
// messages would need memory. For jobs that lcirun has started on one host.
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

/// Each of the two processes has one object. Both create it with the same name; when both have done so, which a barrier
/// ensures, both call use().
class ordered_shortage {
 public:
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
  /// Removes the name of the file.
  void use() { unlink(path_.c_str()); }

  /// Makes allocations of the other process fail from now on, as a failing_memory with these arguments does.
  void begin(long good, long bad) { order(good, bad); }
  /// Lets the other process allocate again. Returns how many of its allocations have failed since begin().
  long end() {
    order(-1, 0);
    return board_->failures;
  }
  /// Calls f() while allocations of the other process fail, or of this one. Returns how many have failed.
  template <class F>
  long fail_during(bool at_other, long good, long bad, F f) {
    if (at_other) {
      begin(good, bad);
      f();
      return end();
    }
    const failing_memory shortage(0, good, bad);
    f();
    return failing_memory::failures();
  }
  /// Ends obey() in the other process.
  void dismiss() { order(-2, 0); }

  /// Executes what the other process orders, and calls `meanwhile` again and again, until the other one calls
  /// dismiss().
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
  /// In the file, which is created full of zeros.
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

/// Calls `once(good)` for good = 0, 1, ... until it returns 0. It returns how many allocations have failed in it; all
/// those after the first `good` are to fail. Ends the test with an error if that takes too long.
template <class F>
void sweep_allocations(F once) {
  constexpr long most = 1000;
  for (long good = 0; good < most; ++good)
    if (once(good) == 0) return;
  std::fprintf(stderr, "sweep_allocations: an operation makes more than %ld allocations\n", most);
  std::exit(2);
}

}  // namespace lci_test
