// Measures calls of HG without arguments between two processes: round trip, rate with 64 outstanding calls, and
// processor time of an idle server.
//
//   mercury_calls [URL] [SECONDS]
//
// URL is the argument of NA_Initialize() in both processes, "na+sm" by default. Prints one line of JSON.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "bench/mercury/two_processes.hpp"

namespace {

using bench::call;
using bench::check;

hg_return_t run_null(hg_handle_t handle) {
  HG_Handler_start_output(handle, nullptr);
  return HG_Handler_free(handle);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Round trip in ns: the median of rounds, each of which takes a tenth of the time.
double round_trip(na_addr_t server, hg_id_t id, double seconds) {
  std::vector<double> rounds;
  for (int r = 0; r < 10; ++r) {
    const double begin = now();
    int n = 0;
    double end = begin;
    for (; end - begin < seconds / 10; end = now())
      for (int i = 0; i < 100; ++i, ++n) call(server, id);
    rounds.push_back((end - begin) / n * 1e9);
  }
  std::nth_element(rounds.begin(), rounds.begin() + 5, rounds.end());
  return rounds[5];
}

/// Millions of calls per second.
double rate(na_addr_t server, hg_id_t id, double seconds) {
  constexpr size_t window = 64;
  std::vector<hg_request_t> requests(window);
  const double begin = now();
  double end = begin;
  size_t n = 0;
  for (hg_request_t& r : requests) check(HG_Forward(server, id, nullptr, nullptr, &r) == HG_SUCCESS, "HG_Forward()");
  for (; end - begin < seconds; end = now())
    for (size_t i = 0; i < window; ++i, ++n) {
      check(HG_Wait(requests[i], HG_MAX_IDLE_TIME, HG_STATUS_IGNORE) == HG_SUCCESS, "HG_Wait()");
      HG_Request_free(requests[i]);
      check(HG_Forward(server, id, nullptr, nullptr, &requests[i]) == HG_SUCCESS, "HG_Forward()");
    }
  for (hg_request_t r : requests) {
    check(HG_Wait(r, HG_MAX_IDLE_TIME, HG_STATUS_IGNORE) == HG_SUCCESS, "HG_Wait()");
    HG_Request_free(r);
  }
  return static_cast<double>(n) / (end - begin) * 1e-6;
}

/// Seconds of processor time that the process has used.
double used_by(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  text = text.substr(text.rfind(')') + 2);
  for (int i = 0; i < 11; ++i) text = text.substr(text.find(' ') + 1);
  char* end = nullptr;
  const double user = std::strtod(text.c_str(), &end), system = std::strtod(end, nullptr);
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Processor time of the idle server in percent of a processor.
double idle_share(pid_t server, double seconds) {
  const double begin = now(), used = used_by(server);
  usleep(static_cast<useconds_t>(seconds * 1e6));
  return (used_by(server) - used) / (now() - begin) * 100;
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = argc > 1 ? argv[1] : "na+sm";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  return bench::measure_between_two(
      url, [] { MERCURY_REGISTER("null", void, void, run_null); },
      [&](na_addr_t server, pid_t process) {
        const hg_id_t null_id = MERCURY_REGISTER("null", void, void, nullptr);
        for (int i = 0; i < 1000; ++i) call(server, null_id);
        const double ns = round_trip(server, null_id, seconds / 2);
        const double millions = rate(server, null_id, seconds / 2);
        const double idle = idle_share(process, 2 * seconds);
        std::printf(
            "{\"url\": \"%s\", \"round_trip_ns\": %.0f, \"rate_of_64_millions\": %.3f, \"idle_percent\": %.2f}\n", url,
            ns, millions, idle);
      });
}
