// mercury_time.h.
#include <mercury_time.h>
#include <time.h>

#include <cerrno>
#include <cmath>

namespace {
constexpr long micro = 1000000;

hg_time_t normal(long seconds, long microseconds) {
  for (; microseconds < 0; microseconds += micro) --seconds;
  return {seconds + microseconds / micro, microseconds % micro};
}
}  // namespace

int hg_time_get_current(hg_time_t* tv) {
  timespec now{};
  if (tv == nullptr || clock_gettime(CLOCK_MONOTONIC, &now) != 0) return HG_UTIL_FAIL;
  *tv = {now.tv_sec, now.tv_nsec / 1000};
  return HG_UTIL_SUCCESS;
}

double hg_time_to_double(hg_time_t tv) {
  return static_cast<double>(tv.tv_sec) + static_cast<double>(tv.tv_usec) * 1e-6;
}

hg_time_t hg_time_from_double(double d) {
  const double seconds = std::floor(d);
  return normal(static_cast<long>(seconds), std::lround((d - seconds) * 1e6));
}

int hg_time_less(hg_time_t in1, hg_time_t in2) {
  return in1.tv_sec < in2.tv_sec || (in1.tv_sec == in2.tv_sec && in1.tv_usec < in2.tv_usec);
}

hg_time_t hg_time_add(hg_time_t in1, hg_time_t in2) {
  return normal(in1.tv_sec + in2.tv_sec, in1.tv_usec + in2.tv_usec);
}

hg_time_t hg_time_subtract(hg_time_t in1, hg_time_t in2) {
  return normal(in1.tv_sec - in2.tv_sec, in1.tv_usec - in2.tv_usec);
}

int hg_time_sleep(const hg_time_t rqt, hg_time_t* rem) {
  const timespec wanted{rqt.tv_sec, rqt.tv_usec * 1000};
  timespec left{};
  const int result = nanosleep(&wanted, &left);
  if (rem != nullptr) *rem = {left.tv_sec, left.tv_nsec / 1000};
  return result == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

char* hg_time_stamp() {
  static thread_local char text[64];
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  strftime(text, sizeof text, "%a, %d %b %Y %T %Z", &parts);
  return text;
}
