// Measures the start of a job: time from the launcher's exec to the first message, and memory.
//
// The caller puts CLOCK_MONOTONIC in nanoseconds into START_TIME_NS right before it starts the launcher
// (bench/measure.py does). Rank 0 sends one active message to the last rank, which answers; then all ranks enter a
// barrier. Each rank prints one line of JSON: milliseconds from START_TIME_NS to main(), to the end of
// g_runtime_init(), to its first message, to the end of the barrier; and resident memory in kB before and after init.
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <lci.hpp>

namespace {

std::atomic<bool> arrived{false};

void on_message(lci::status_t) { arrived.store(true, std::memory_order_release); }

double now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

long resident_kb() {
  long kb = -1;
  FILE* f = std::fopen("/proc/self/status", "r");
  if (f == nullptr) return kb;
  char line[256];
  while (std::fgets(line, sizeof(line), f) != nullptr) {
    if (std::sscanf(line, "VmRSS: %ld kB", &kb) == 1) break;
  }
  std::fclose(f);
  return kb;
}

void send_to(int rank, lci::rcomp_t handler) {
  const uint64_t word = 1;
  while (lci::post_am(rank, &word, sizeof(word), lci::COMP_NULL_RETRY, handler).is_retry()) {
    lci::progress();
  }
}

void run(double start_ms, double main_ms) {
  const long before_kb = resident_kb();
  lci::g_runtime_init();
  const double init_ms = now_ms();
  const long after_kb = resident_kb();
  const int rank = lci::get_rank_me(), last = lci::get_rank_n() - 1;

  lci::comp_t comp = lci::alloc_handler_x(on_message).am_in_place(true)();
  const lci::rcomp_t handler = lci::register_rcomp(comp);
  double message_ms = -1;
  if (rank == 0) send_to(last, handler);
  if (rank == 0 || rank == last) {
    while (!arrived.load(std::memory_order_acquire)) lci::progress();
    message_ms = now_ms();
    if (rank == last && rank != 0) send_to(0, handler);
  }
  lci::barrier();
  const double barrier_ms = now_ms();
  std::printf(
      "{\"rank\": %d, \"ranks\": %d, \"main_ms\": %.3f, \"init_ms\": %.3f, \"message_ms\": %.3f, "
      "\"barrier_ms\": %.3f, "
      "\"rss_before_kb\": %ld, \"rss_kb\": %ld}\n",
      rank, last + 1, main_ms - start_ms, init_ms - start_ms, message_ms < 0 ? -1 : message_ms - start_ms,
      barrier_ms - start_ms, before_kb, after_kb);
  std::fflush(stdout);
  lci::deregister_rcomp(handler);
  lci::free_comp(&comp);
  lci::g_runtime_fina();
}

}  // namespace

int main() {
  const double main_ms = now_ms();
  const char* text = std::getenv("START_TIME_NS");
  try {
    run(text != nullptr ? std::atof(text) * 1e-6 : main_ms, main_ms);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "start_time: %s\n", e.what());
    return 1;
  }
  return 0;
}
