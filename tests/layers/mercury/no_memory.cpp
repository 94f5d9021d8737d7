// A server without memory for a while: each call gets its answer, or the code HG_NOMEM_ERROR, when memory is
// back. Functions for bulk handles say that there is no memory.
#include <csignal>
#include <cstddef>
#include <optional>
#include <vector>

#include "lib/layers/mercury/bulk_wire.hpp"
#include "tests/layers/mercury/functions.hpp"
#include "tests/support/failing_memory.hpp"

namespace {

using namespace test;

constexpr const char* url = "tcp";

std::optional<lci_test::failing_memory> shortage;
/// Handles that the server keeps: more than it has objects for from the calls before.
constexpr size_t n_held = 8;
std::vector<hg_handle_t> held;
volatile std::sig_atomic_t call_is_sent = 0;  // the one after the last of them
bool ended = false;

hg_return_t answer(hg_handle_t handle) {
  number_t n;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &n));
  ++n.value;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, &n));
  return HG_Handler_free(handle);
}

/// Answers while there is no memory.
hg_return_t run_late(hg_handle_t handle) {
  shortage.emplace();
  return answer(handle);
}

/// Keeps the handle, so that the call after the last of them needs memory, which is missing when it arrives.
hg_return_t run_hold(hg_handle_t handle) {
  held.push_back(handle);
  if (held.size() < n_held) return HG_SUCCESS;
  shortage.emplace();
  say("held");
  return HG_SUCCESS;
}

hg_return_t run_release(hg_handle_t handle) {
  for (const hg_handle_t h : held) REQUIRE_HG(HG_SUCCESS, answer(h));
  return answer(handle);
}

hg_return_t run_stop(hg_handle_t handle) {
  ended = true;
  return answer(handle);
}

struct ids {
  hg_id_t plus, late, hold, release, stop;
};

ids register_all(bool executes) {
  const auto add = [executes](const char* name, hg_return_t (*run)(hg_handle_t)) {
    return HG_Register(name, hg_proc_number_t, hg_proc_number_t, executes ? run : nullptr);
  };
  return {add("plus", answer), add("late", run_late), add("hold", run_hold), add("release", run_release),
          add("stop", run_stop)};
}

int serve_without_memory() {
  std::signal(SIGUSR1, [](int) { call_is_sent = 1; });
  const hg h(url, true);
  register_all(true);
  say(h.own_name());
  while (!ended) {
    REQUIRE_HG(HG_SUCCESS, HG_Handler_process(100, HG_STATUS_IGNORE));
    if (!shortage) continue;
    // The allocations of several rounds of progress fail.
    const double begin = now();
    for (int rounds = 50; rounds > 0; HG_Handler_process(1, HG_STATUS_IGNORE)) {
      if (lci_test::failing_memory::failures() > 0 && (held.size() < n_held || call_is_sent != 0)) --rounds;
      REQUIRE(now() - begin < 30);  // else nothing has needed memory
    }
    shortage.reset();
  }
  return 0;
}

/// Calls `run(handle)` for a handle of this process's memory, while single allocations fail, one after the other: it
/// succeeds or says that there is no memory. It frees the handle.
template <class F>
void fail_each(F run) {
  static char memory[100];
  void* at = memory;
  const size_t size = sizeof memory;
  for (long good = 0;; ++good) {
    hg_bulk_t handle = HG_BULK_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, &at, &size, HG_BULK_READWRITE, &handle));
    const hg_return_t code = run(handle, good);
    const bool has_failed = lci_test::failing_memory::failures() > 0;
    if (code != HG_SUCCESS) REQUIRE_HG(has_failed ? HG_NOMEM_ERROR : HG_SUCCESS, code);
    if (!has_failed) return;
  }
}

void use_handles_without_memory() {
  std::vector<char> bytes(4096);
  fail_each([](hg_bulk_t handle, long good) {
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(handle));
    const size_t size = 100;
    hg_return_t code;
    {
      const lci_test::failing_memory some(0, good, 1);
      code = HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &handle);
    }
    if (code == HG_SUCCESS) REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(handle));
    return code;
  });
  fail_each([&bytes](hg_bulk_t handle, long good) {
    hg_return_t code;
    {
      const lci_test::failing_memory some(0, good, 1);
      code = HG_Bulk_handle_serialize(bytes.data(), bytes.size(), handle);
    }
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(handle));
    return code;
  });
  fail_each([&bytes](hg_bulk_t handle, long good) {
    hg_proc_t proc = HG_PROC_NULL;
    REQUIRE_HG(HG_SUCCESS, hg_proc_create(bytes.data(), bytes.size(), HG_ENCODE, HG_NOHASH, &proc));
    hg_return_t code;
    {
      const lci_test::failing_memory some(0, good, 1);
      code = hg_proc_hg_bulk_t(proc, &handle);
    }
    REQUIRE_HG(HG_SUCCESS, hg_proc_free(proc));
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(handle));
    return code;
  });
  for (const bool is_own : {true, false})
    fail_each([&bytes, is_own](hg_bulk_t handle, long good) {
      REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_serialize(bytes.data(), bytes.size(), handle));
      bytes[offsetof(mercury::bulk_header, process)] ^= is_own ? 0 : 1;
      hg_bulk_t copy = HG_BULK_NULL;
      hg_return_t code;
      {
        const lci_test::failing_memory some(0, good, 1);
        code = HG_Bulk_handle_deserialize(&copy, bytes.data(), bytes.size());
      }
      if (code == HG_SUCCESS) REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(copy));
      REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(handle));
      return code;
    });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "serve") return serve_without_memory();
  process server({"serve"});
  {
    const hg h(url);
    use_handles_without_memory();
    std::puts("bulk handles without memory: done");
    const ids calls = register_all(false);
    const na_addr_t address = h.find(server.line());
    for (uint64_t i = 0; i < 20; ++i) {
      number_t in{i}, out{0};
      REQUIRE_HG(HG_SUCCESS, h.call(address, i % 2 == 0 ? calls.plus : calls.late, &in, &out));
      REQUIRE(out.value == i + 1);
    }
    std::puts("answers without memory: done");
    number_t in{1}, out{0}, held_out[n_held] = {};
    hg_request_t requests[n_held];
    for (size_t i = 0; i < n_held; ++i)
      REQUIRE_HG(HG_SUCCESS, HG_Forward(address, calls.hold, &in, &held_out[i], &requests[i]));
    REQUIRE(server.line() == "held");
    hg_request_t refused = HG_REQUEST_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Forward(address, calls.plus, &in, &out, &refused));
    server.kill(SIGUSR1);
    // Where the network had no memory to read the call either, the call waited for it and was executed then.
    const hg_return_t code = HG_Wait(refused, 20000, HG_STATUS_IGNORE);
    if (code == HG_SUCCESS)
      REQUIRE(out.value == 2);
    else
      REQUIRE_HG(HG_NOMEM_ERROR, code);
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(refused));
    REQUIRE_HG(HG_SUCCESS, h.call(address, calls.release, &in, &out));
    REQUIRE(out.value == 2);
    for (size_t i = 0; i < n_held; ++i) {
      hg_status_t status = HG_FALSE;
      REQUIRE_HG(HG_SUCCESS, HG_Wait(requests[i], 20000, &status));
      REQUIRE(status == HG_TRUE && held_out[i].value == 2);
      REQUIRE_HG(HG_SUCCESS, HG_Request_free(requests[i]));
    }
    std::puts("calls without memory: done");
    REQUIRE_HG(HG_SUCCESS, h.call(address, calls.stop, &in, &out));
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, address));
  }
  REQUIRE(server.wait() == 0);
  return 0;
}
