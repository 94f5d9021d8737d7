// Ticks are nanoseconds of the system's monotonic clock: it costs some 20 ns to read, without a system call, and
// never goes back from one thread to another, as the processor's own counter may.
#include <lct.h>

#include <chrono>

LCT_time_t LCT_now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}
double LCT_time_to_ns(LCT_time_t time) { return static_cast<double>(time); }
double LCT_time_to_us(LCT_time_t time) { return static_cast<double>(time) / 1e3; }
double LCT_time_to_ms(LCT_time_t time) { return static_cast<double>(time) / 1e6; }
double LCT_time_to_s(LCT_time_t time) { return static_cast<double>(time) / 1e9; }
