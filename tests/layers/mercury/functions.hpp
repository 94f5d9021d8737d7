// The functions that the test's server executes, and helpers of its clients.
#pragma once

#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <mercury_thread_pool.h>

#include <string>
#include <vector>

#include "tests/layers/na/processes.hpp"

#define REQUIRE_HG(expected, call)                                                             \
  do {                                                                                         \
    const hg_return_t code_ = (call);                                                          \
    if (code_ != (expected)) {                                                                 \
      std::fprintf(stderr, "%s:%d: process %d: %s: %s\n", __FILE__, __LINE__, getpid(), #call, \
                   HG_Error_to_string(code_));                                                 \
      std::exit(3);                                                                            \
    }                                                                                          \
  } while (0)

namespace test {

MERCURY_GEN_PROC(open_in_t, ((hg_const_string_t)(path))((hg_uint64_t)(cookie)))
MERCURY_GEN_PROC(open_out_t, ((hg_int32_t)(ret))((hg_int32_t)(event_id)))
MERCURY_GEN_PROC(text_t, ((hg_string_t)(text)))
MERCURY_GEN_PROC(number_t, ((hg_uint64_t)(value)))
MERCURY_GEN_PROC(bulk_in_t,
                 ((hg_bulk_t)(memory))((hg_uint64_t)(origin_offset))((hg_uint64_t)(size))((hg_uint64_t)(seed)))

/// The ids of all functions.
struct functions {
  hg_id_t null, open, length, repeat, pooled, silent, pull, push, hash, die, keep, end, nobody;
};

/// Registers all functions: for a server with the routines that execute them, for a client with NULL instead.
functions register_functions(bool executes);

inline unsigned char pattern(uint64_t seed, uint64_t i) {
  return static_cast<unsigned char>((seed + i) * 2654435761u >> 13);
}

/// HG with its own NA class, for the lifetime of this object.
struct hg {
  explicit hg(const char* url, bool listen = false, bool executes = false)
      : na(NA_Initialize(url, listen ? NA_TRUE : NA_FALSE)) {
    REQUIRE(na != nullptr);
    REQUIRE_HG(HG_SUCCESS, HG_Init(na));
    ids = register_functions(executes);
  }
  ~hg() {
    REQUIRE_HG(HG_SUCCESS, HG_Finalize());
    REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
  }
  hg(const hg&) = delete;
  hg& operator=(const hg&) = delete;

  na_addr_t find(const std::string& name) const {
    na_addr_t addr = NA_ADDR_NULL;
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_lookup_wait(na, name.c_str(), &addr));
    return addr;
  }
  na_addr_t self() const {
    na_addr_t addr = NA_ADDR_NULL;
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(na, &addr));
    return addr;
  }
  std::string own_name() const {
    char text[NA_MAX_ADDR_LEN];
    const na_addr_t addr = self();
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_to_string(na, text, sizeof text, addr));
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(na, addr));
    return text;
  }
  /// Calls, waits at most 20 s, and returns the result's code.
  hg_return_t call(na_addr_t addr, hg_id_t id, void* in, void* out) const {
    hg_request_t request = HG_REQUEST_NULL;
    hg_return_t code = HG_Forward(addr, id, in, out, &request);
    if (code != HG_SUCCESS) return code;
    hg_status_t status = HG_FALSE;
    code = HG_Wait(request, 20000, &status);
    REQUIRE(status == HG_TRUE);
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
    return code;
  }

  na_class_t* const na;
  functions ids;
};

/// Executes calls until it has executed one of `end`.
void serve();
/// The main function of a server: prints its name and executes calls.
int serve_at(const char* url);
/// The main function of a client that ends the server with that name.
int end_server(const std::string& name, const char* url);
/// Over each network, starts this program as a server ("serve"), as two clients ("call") and as a client that ends the
/// server ("end"). All must succeed.
void run_two_clients();

}  // namespace test
