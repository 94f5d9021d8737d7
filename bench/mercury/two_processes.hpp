// Shared by measurements of HG between two processes: main() forks a server, and calls it as its client.
#pragma once

#include <mercury.h>
#include <mercury_handler.h>
#include <mercury_macros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace bench {

inline bool ended = false;

inline void check(bool is_well, const char* what) {
  if (is_well) return;
  std::fprintf(stderr, "mercury: %s failed\n", what);
  std::exit(1);
}

inline hg_return_t run_end(hg_handle_t handle) {
  ended = true;
  HG_Handler_start_output(handle, nullptr);
  return HG_Handler_free(handle);
}

/// The server: executes the functions of register_functions() until the client ends it.
template <class Register>
int serve(const char* url, FILE* to, Register register_functions) {
  na_class_t* na = NA_Initialize(url, NA_TRUE);
  check(na != nullptr && HG_Init(na) == HG_SUCCESS, "HG_Init()");
  register_functions();
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

inline void call(na_addr_t server, hg_id_t id, void* in = nullptr, void* out = nullptr) {
  hg_request_t request;
  check(HG_Forward(server, id, in, out, &request) == HG_SUCCESS, "HG_Forward()");
  check(HG_Wait(request, HG_MAX_IDLE_TIME, HG_STATUS_IGNORE) == HG_SUCCESS, "HG_Wait()");
  HG_Request_free(request);
}

/// Forks the server, and calls measure(server's address, server's process id) in the client. Returns the exit status of
/// main().
template <class Register, class Measure>
int measure_between_two(const char* url, Register register_functions, Measure measure) {
  int ends[2];
  check(pipe(ends) == 0, "pipe()");
  const pid_t server_process = fork();
  if (server_process == 0) return serve(url, fdopen(ends[1], "w"), register_functions);
  close(ends[1]);
  char name[NA_MAX_ADDR_LEN] = {};
  check(std::fgets(name, sizeof name, fdopen(ends[0], "r")) != nullptr, "the server");
  na_class_t* na = NA_Initialize(url, NA_FALSE);
  check(na != nullptr && HG_Init(na) == HG_SUCCESS, "HG_Init()");
  na_addr_t server = NA_ADDR_NULL;
  check(NA_Addr_lookup_wait(na, name, &server) == NA_SUCCESS, "NA_Addr_lookup_wait()");
  measure(server, server_process);
  call(server, MERCURY_REGISTER("end", void, void, nullptr));
  NA_Addr_free(na, server);
  check(HG_Finalize() == HG_SUCCESS && NA_Finalize(na) == NA_SUCCESS, "HG_Finalize()");
  int status = 1;
  waitpid(server_process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace bench
