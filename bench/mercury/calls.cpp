// Calls without arguments through HG between two processes: round trip, and rate with 64 calls under way.
//
//   mercury_calls [URL] [SECONDS]
//
// URL is what both give to NA_Initialize(), "na+sm" by default. Prints one line of JSON.
#include <mercury.h>
#include <mercury_handler.h>
#include <mercury_macros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

bool ended = false;

void check(bool is_well, const char* what) {
  if (is_well) return;
  std::fprintf(stderr, "mercury_calls: %s failed\n", what);
  std::exit(1);
}

hg_return_t run_null(hg_handle_t handle) {
  HG_Handler_start_output(handle, nullptr);
  return HG_Handler_free(handle);
}

hg_return_t run_end(hg_handle_t handle) {
  ended = true;
  return run_null(handle);
}

int serve(const char* url, FILE* to) {
  na_class_t* na = NA_Initialize(url, NA_TRUE);
  check(na != nullptr && HG_Init(na) == HG_SUCCESS, "HG_Init()");
  MERCURY_REGISTER("null", void, void, run_null);
  MERCURY_REGISTER("end", void, void, run_end);
  na_addr_t self = NA_ADDR_NULL;
  char name[NA_MAX_ADDR_LEN];
  check(NA_Addr_self(na, &self) == NA_SUCCESS, "NA_Addr_self()");
  check(NA_Addr_to_string(na, name, sizeof name, self) == NA_SUCCESS, "NA_Addr_to_string()");
  NA_Addr_free(na, self);
  std::fprintf(to, "%s\n", name);
  std::fclose(to);
  while (!ended) HG_Handler_process(1000, HG_STATUS_IGNORE);
  return HG_Finalize() == HG_SUCCESS && NA_Finalize(na) == NA_SUCCESS ? 0 : 1;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void call(na_addr_t server, hg_id_t id) {
  hg_request_t request;
  check(HG_Forward(server, id, nullptr, nullptr, &request) == HG_SUCCESS, "HG_Forward()");
  check(HG_Wait(request, HG_MAX_IDLE_TIME, HG_STATUS_IGNORE) == HG_SUCCESS, "HG_Wait()");
  HG_Request_free(request);
}

/// Median of rounds of a tenth of the time; in ns.
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

/// In millions a second.
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

}  // namespace

int main(int argc, char** argv) {
  const char* url = argc > 1 ? argv[1] : "na+sm";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  int ends[2];
  check(pipe(ends) == 0, "pipe()");
  const pid_t server_process = fork();
  if (server_process == 0) return serve(url, fdopen(ends[1], "w"));
  close(ends[1]);
  char name[NA_MAX_ADDR_LEN] = {};
  check(std::fgets(name, sizeof name, fdopen(ends[0], "r")) != nullptr, "the server");
  na_class_t* na = NA_Initialize(url, NA_FALSE);
  check(na != nullptr && HG_Init(na) == HG_SUCCESS, "HG_Init()");
  const hg_id_t null_id = MERCURY_REGISTER("null", void, void, nullptr);
  const hg_id_t end_id = MERCURY_REGISTER("end", void, void, nullptr);
  na_addr_t server = NA_ADDR_NULL;
  check(NA_Addr_lookup_wait(na, name, &server) == NA_SUCCESS, "NA_Addr_lookup_wait()");
  for (int i = 0; i < 1000; ++i) call(server, null_id);
  const double ns = round_trip(server, null_id, seconds / 2);
  const double millions = rate(server, null_id, seconds / 2);
  std::printf("{\"url\": \"%s\", \"round_trip_ns\": %.0f, \"rate_of_64_millions\": %.3f}\n", url, ns, millions);
  call(server, end_id);
  NA_Addr_free(na, server);
  check(HG_Finalize() == HG_SUCCESS && NA_Finalize(na) == NA_SUCCESS, "HG_Finalize()");
  int status = 1;
  waitpid(server_process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
