// sweep_function_calls [URL]: a client calls functions of a server by HG, and the server gets memory of the client,
// while the calls that LCI_TEST_SWEEP names fail; LCI_TEST_SWEEP_RANK is 0 for the client, and 1 for the server. Each
// function of NA and HG succeeds, or returns an error, and then succeeds when it is called again, as faults are
// temporary.
#include <mercury_bulk.h>
#include <mercury_handler.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/testing.hpp"
#include "tests/sweep/faults.hpp"

namespace {

MERCURY_GEN_PROC(text_t, ((hg_string_t)(text)))
MERCURY_GEN_PROC(memory_t, ((hg_bulk_t)(memory)))
MERCURY_GEN_PROC(sum_t, ((hg_uint64_t)(value)))

constexpr unsigned wait_ms = 10000;
bool ended = false;

[[noreturn]] void give_up(const char* format, ...) {
  std::va_list list;
  va_start(list, format);
  std::fprintf(stderr, "SWEEP FAILED: ");
  std::vfprintf(stderr, format, list);
  std::fprintf(stderr, "\n");
  std::exit(1);
}

/// Calls f(), which returns whether it has succeeded, more often than the thirty allocations in a row that a plan makes
/// fail (`PART~30`).
template <class F>
void insist(const char* what, F f) {
  for (int i = 0; i < 40; ++i)
    if (f()) return;
  give_up("%s: fails for ever", what);
}

/// Returns f(). No faults are injected into its allocations, which belong to the scenario.
template <class F>
auto own(F f) {
  const sweep::exempt here;
  return f();
}

uint64_t sum_of(const char* bytes, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum = sum * 31 + static_cast<unsigned char>(bytes[i]);
  return sum;
}

// --- the server's functions ---

hg_return_t answer(hg_handle_t handle, void* out) {
  HG_Handler_start_output(handle, out);
  return HG_Handler_free(handle);
}

hg_return_t run_sum(hg_handle_t handle) {
  text_t in{nullptr};
  if (HG_Handler_get_input(handle, &in) != HG_SUCCESS) return HG_Handler_free(handle);  // which answers HG_FAIL
  sum_t out{sum_of(in.text, std::strlen(in.text))};
  HG_Handler_free_input(handle, &in);
  return answer(handle, &out);
}

hg_return_t run_get(hg_handle_t handle) {
  memory_t in{HG_BULK_NULL};
  if (HG_Handler_get_input(handle, &in) != HG_SUCCESS) return HG_Handler_free(handle);
  const size_t size = HG_Bulk_handle_get_size(in.memory);
  std::vector<char> bytes = own([&] { return std::vector<char>(size); });
  hg_bulk_t local = HG_BULK_NULL;
  hg_bulk_request_t request = HG_BULK_REQUEST_NULL;
  void* at = bytes.data();
  bool is_well = HG_Bulk_handle_create(1, &at, &size, HG_BULK_READWRITE, &local) == HG_SUCCESS;
  if (is_well && HG_Bulk_transfer(HG_BULK_PULL, HG_Handler_get_addr(handle), in.memory, 0, local, 0, size, &request) ==
                     HG_SUCCESS) {
    hg_status_t status = HG_FALSE;
    is_well = HG_Bulk_wait(request, wait_ms, &status) == HG_SUCCESS;
    if (is_well && status == HG_FALSE) give_up("HUNG: a transfer");
  } else {
    is_well = false;
  }
  if (local != HG_BULK_NULL) HG_Bulk_handle_free(local);
  HG_Handler_free_input(handle, &in);
  if (!is_well) return HG_Handler_free(handle);
  sum_t out{sum_of(bytes.data(), bytes.size())};
  return answer(handle, &out);
}

hg_return_t run_end(hg_handle_t handle) {
  ended = true;
  return answer(handle, nullptr);
}

void start(const char* url, na_bool_t listens, na_class_t** na) {
  insist("NA_Initialize()", [&] { return (*na = NA_Initialize(url, listens)) != nullptr; });
  insist("HG_Init()", [&] { return HG_Init(*na) == HG_SUCCESS; });
}

void register_all(bool executes, hg_id_t ids[3]) {
  insist("HG_Register()", [&] {
    ids[0] = MERCURY_REGISTER("sum", text_t, sum_t, executes ? run_sum : nullptr);
    ids[1] = MERCURY_REGISTER("get", memory_t, sum_t, executes ? run_get : nullptr);
    ids[2] = MERCURY_REGISTER("end", void, void, executes ? run_end : nullptr);
    return ids[0] != 0 && ids[1] != 0 && ids[2] != 0;
  });
}

void finish(na_class_t* na) {
  if (HG_Finalize() != HG_SUCCESS) give_up("HG_Finalize()");
  if (NA_Finalize(na) != NA_SUCCESS) give_up("NA_Finalize()");
}

int serve(const char* url, std::FILE* to) {
  na_class_t* na = nullptr;
  hg_id_t ids[3];
  sweep::arm(1);
  start(url, NA_TRUE, &na);
  register_all(true, ids);
  na_addr_t self = NA_ADDR_NULL;
  char name[NA_MAX_ADDR_LEN];
  insist("the own name", [&] {
    return NA_Addr_self(na, &self) == NA_SUCCESS && NA_Addr_to_string(na, name, sizeof name, self) == NA_SUCCESS;
  });
  std::fprintf(to, "%s\n", name);
  std::fclose(to);
  while (!ended) HG_Handler_process(1000, HG_STATUS_IGNORE);
  sweep::disarm();
  finish(na);
  if (sweep::injected() == 0) sweep::print_counts(1);
  return 0;
}

// --- the client ---

class client {
 public:
  client(const char* url, const char* name) : name_(name) {
    start(url, NA_FALSE, &na_);
    register_all(false, ids_);
    find();
  }
  ~client() { finish(na_); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  void call_all() {
    for (const size_t size : {2, 100, 3000, 5000, 200000}) {
      std::string text = own([&] { return std::string(size, 's'); });
      for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 26);
      text_t in{text.data()};
      sum_t out{0};
      for (int i = 0; i < 5; ++i) {
        out.value = 0;
        insist("a call", [&] { return call(ids_[0], &in, &out); });
        if (out.value != sum_of(text.data(), size)) give_up("a wrong result");
      }
      get(text);
    }
  }
  /// Ends the server. If the connection fails, the server may exit before its reply arrives.
  void end(pid_t server) {
    insist("the last call", [&] {
      if (call_once(ids_[2], nullptr, nullptr) == HG_SUCCESS) return true;
      usleep(200000);
      siginfo_t ended{};
      waitid(P_PID, static_cast<id_t>(server), &ended, WEXITED | WNOHANG | WNOWAIT);
      if (ended.si_pid == server) return true;
      NA_Addr_lookup_wait(na_, name_, &server_);  // the connection may have ended
      return false;
    });
  }

 private:
  void find() {
    insist("NA_Addr_lookup_wait()", [&] { return NA_Addr_lookup_wait(na_, name_, &server_) == NA_SUCCESS; });
  }
  /// The server gets the text from this process's memory, in pieces in another order.
  void get(const std::string& text) {
    const size_t half = text.size() / 2;
    std::string second = own([&] { return text.substr(half); }), first = own([&] { return text.substr(0, half); });
    void* at[2] = {second.data(), first.data()};
    const size_t sizes[2] = {second.size(), first.size()};
    memory_t in{HG_BULK_NULL};
    insist("HG_Bulk_handle_create()",
           [&] { return HG_Bulk_handle_create(2, at, sizes, HG_BULK_READ_ONLY, &in.memory) == HG_SUCCESS; });
    sum_t out{0};
    insist("a call with memory", [&] { return call(ids_[1], &in, &out); });
    const std::string there = own([&] { return second + first; });
    if (out.value != sum_of(there.data(), there.size())) give_up("wrong memory");
    HG_Bulk_handle_free(in.memory);
  }
  bool call(hg_id_t id, void* in, void* out) {
    const hg_return_t code = call_once(id, in, out);
    if (code == HG_NA_ERROR) find();  // the connection may have ended
    return code == HG_SUCCESS;
  }
  hg_return_t call_once(hg_id_t id, void* in, void* out) {
    hg_request_t request = HG_REQUEST_NULL;
    hg_return_t code = HG_Forward(server_, id, in, out, &request);
    if (code == HG_SUCCESS) {
      hg_status_t status = HG_FALSE;
      code = HG_Wait(request, wait_ms, &status);
      if (code == HG_SUCCESS && status == HG_FALSE) give_up("HUNG: a call");
      HG_Request_free(request);
    }
    return code;
  }

  const char* const name_;
  na_class_t* na_ = nullptr;
  hg_id_t ids_[3];
  na_addr_t server_ = NA_ADDR_NULL;
};

void end_hung(int) {
  constexpr char text[] = "SWEEP FAILED: HUNG: in a call of the library\n";
  (void)!::write(STDERR_FILENO, text, sizeof text - 1);
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = argc > 1 ? argv[1] : "tcp";
  sweep::read_plan();
  std::signal(SIGALRM, end_hung);
  int ends[2];
  if (pipe(ends) != 0) return 2;
  const pid_t server = fork();
  alarm(static_cast<unsigned>(40 * lci_test::time_scale));
  if (server == 0) return serve(url, fdopen(ends[1], "w"));
  close(ends[1]);
  char name[NA_MAX_ADDR_LEN] = "";
  if (std::fgets(name, sizeof name, fdopen(ends[0], "r")) == nullptr) give_up("the server has not started");
  sweep::arm(0);
  {
    client c(url, name);
    c.call_all();
    sweep::disarm();
    c.call_all();
    c.end(server);
  }
  if (sweep::injected() == 0) sweep::print_counts(0);
  int status = 1;
  waitpid(server, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
