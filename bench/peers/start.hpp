// Measures the start of a library, in the format of bench/start_time.
#pragma once

#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace peers {

/// Must be constructed first in main().
class start_report {
 public:
  start_report() {
    const char* const text = std::getenv("START_TIME_NS");
    main_ = now_ms();
    start_ = text != nullptr ? std::atof(text) * 1e-6 : main_;
    before_kb_ = resident_kb();
  }
  void library_is_up() {
    init_ = now_ms();
    after_kb_ = resident_kb();
  }
  void first_message() { message_ = now_ms(); }
  /// Sends a message from rank 0, and an answer.
  template <class End>
  void exchange_first(End& end, int rank) {
    const char word[8] = {};
    char got[8];
    if (rank == 0) end.send_now(word, sizeof word);
    end.recv_now(got, sizeof got);
    first_message();
    if (rank == 1) end.send_now(word, sizeof word);
  }
  void print(int rank, int ranks) const {
    std::printf(
        "{\"rank\": %d, \"ranks\": %d, \"main_ms\": %.3f, \"init_ms\": %.3f, \"message_ms\": %.3f, "
        "\"rss_before_kb\": %ld, \"rss_kb\": %ld}\n",
        rank, ranks, main_ - start_, init_ - start_, message_ - start_, before_kb_, after_kb_);
    std::fflush(stdout);
  }

 private:
  static double now_ms() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  }
  static long resident_kb() {
    long kb = -1;
    FILE* const f = std::fopen("/proc/self/status", "r");
    if (f == nullptr) return kb;
    char line[256];
    while (std::fgets(line, sizeof line, f) != nullptr)
      if (std::sscanf(line, "VmRSS: %ld kB", &kb) == 1) break;
    std::fclose(f);
    return kb;
  }

  double start_ = 0, main_ = 0, init_ = 0, message_ = 0;
  long before_kb_ = 0, after_kb_ = 0;
};

}  // namespace peers
