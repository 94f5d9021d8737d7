// CCS without memory: a call returns CCS_NOMEM and has no effect, or succeeds, and none waits for ever. Rank 0 issues
// operations, while an allocation fails there or at rank 1, which only polls; or both call a collective operation,
// while an allocation fails at rank 0. The sweep goes on until an operation needs no further allocation.
#include <ccs.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/failing_memory.hpp"
#include "tests/support/ordered_shortage.hpp"

namespace {

using lci_test::failing_memory;
using lci_test::ordered_shortage;

CCS_node_t me = 0;
CCS_context_t context = 0;
int failed = 0, answers = 0, ended = 0;
ordered_shortage* shared = nullptr;
constexpr int pieces = 2000;
char local[1 << 20], landing[1 << 20];
char* memory = nullptr;

#define EXPECT(condition, what)                                                           \
  do {                                                                                    \
    if (!(condition)) std::printf("%u: FAILED %s: %s\n", me, what, #condition), ++failed; \
  } while (false)

void on_question(CCS_token_t token, void*, unsigned) { CCS_amreply(token, nullptr, 0, CCS_DATA_NULL, 1, 0); }
void on_answer(CCS_token_t, void*, unsigned) { ++answers; }
int on_large(CCS_token_t, size_t len, void** dest, size_t* count, CCS_datadesc_t* desc, CCS_callback_t*, void**,
             unsigned, ...) {
  *dest = landing;
  *count = len;
  *desc = CCS_DATA8;
  return CCS_SUCCESS;
}
void on_end(void*) { ++ended; }

CCS_datadesc_t spread() {
  static CCS_datadesc_t d = CCS_DATA_NULL;
  if (d == CCS_DATA_NULL) CCS_datadesc_create_vector(pieces, 8, 24, CCS_DATA8, &d);
  return d;
}

struct operation {
  const char* name;
  std::function<int()> call;
  int& counter;  ///< incremented at the end of a call that has succeeded
};
std::vector<operation> operations() {
  constexpr size_t size = size_t{pieces} * 8;
  static CCS_atomic_type_t old;
  return {
      {"message", [] { return CCS_amrequest(context, 1, local, 1000, CCS_DATA8, 0, 0); }, answers},
      {"described message", [] { return CCS_amrequest(context, 1, local, 1, spread(), 0, 0); }, answers},
      {"large message", [] { return CCS_amlarge(context, 1, local, sizeof local, CCS_DATA8, 2, on_end, nullptr, 0); },
       ended},
      {"described large message", [] { return CCS_amlarge(context, 1, local, 3, spread(), 2, on_end, nullptr, 0); },
       ended},
      {"put", [=] { return CCS_put(1, local, size, CCS_DATA8, memory, size, CCS_DATA8, on_end, nullptr); }, ended},
      {"large put",
       [] { return CCS_put(1, local, sizeof local, CCS_DATA8, memory, sizeof local, CCS_DATA8, on_end, nullptr); },
       ended},
      {"described put", [] { return CCS_put(1, local, 3, spread(), memory, 3, spread(), on_end, nullptr); }, ended},
      {"get", [=] { return CCS_get(1, memory, size, CCS_DATA8, local, size, CCS_DATA8, on_end, nullptr); }, ended},
      {"described get", [] { return CCS_get(1, memory, 3, spread(), local, 3, spread(), on_end, nullptr); }, ended},
      {"indexed put",
       [] { return CCS_put_indexed(1, local, 8, reinterpret_cast<void**>(memory + (1 << 20)), on_end, nullptr); },
       ended},
      {"atomic",
       [] {
         return CCS_atomic(1, CCS_ATOMIC_FETCHADD, reinterpret_cast<CCS_atomic_type_t*>(memory), 1, 0, &old, on_end,
                           nullptr);
       },
       ended},
      {"accumulate",
       [=] {
         return CCS_accumulate(1, CCS_SUM, CCS_INT64, nullptr, local, size, CCS_DATA8, memory, 1, spread(), on_end,
                               nullptr);
       },
       ended},
  };
}

/// Calls the operation, and returns when it has completed.
int complete(const operation& o) {
  const int before = o.counter, rc = o.call();
  for (int i = 0; rc == CCS_SUCCESS && o.counter == before; ++i) CCS_poll();
  return rc;
}

void issue(long bad) {
  for (const operation& o : operations()) {
    for (const bool at_rank_1 : {false, true}) {
      const std::string name = std::string(o.name) + (at_rank_1 ? ", none at its target" : "");
      lci_test::sweep_allocations([&](long good) {
        int rc = 0;
        const long failures = shared->fail_during(at_rank_1, good, bad, [&] { rc = complete(o); });
        EXPECT(rc == CCS_SUCCESS || (rc == CCS_NOMEM && failures > 0), name.c_str());
        const int counted = answers + ended;
        EXPECT(CCS_allfence() == CCS_SUCCESS, name.c_str());
        EXPECT(answers + ended == counted, name.c_str());
        EXPECT(complete(o) == CCS_SUCCESS, name.c_str());
        return failures;
      });
    }
  }
}

void meet() {
  const auto at_both = [](const char* name, const std::function<int()>& call) {
    for (long good = 0; good < 200; ++good) {
      long failures = 0;
      int rc = 0;
      if (me == 0) {
        const failing_memory shortage(0, good, 1);
        rc = call();
        failures = failing_memory::failures();
        if (rc == CCS_NOMEM) rc = call();  // the others wait for it
      } else {
        rc = call();
      }
      EXPECT(rc == CCS_SUCCESS, name);
      int any = failures > 0 ? 1 : 0;
      EXPECT(CCS_bcast(&any, sizeof any, CCS_DATA8, 0) == CCS_SUCCESS, name);
      if (any == 0) return;
    }
  };
  at_both("barrier", [] { return CCS_barrier(); });
  at_both("broadcast", [] { return CCS_bcast(local, 1, spread(), 0); });
  at_both("broadcast to rank 0", [] { return CCS_bcast(local, 1, spread(), 1); });
  at_both("reduction", [] { return CCS_reduce(local, landing, 1000, CCS_INT32, CCS_SUM, 0); });
  at_both("reduction to rank 1", [] { return CCS_reduce(local, nullptr, 1000, CCS_INT32, CCS_SUM, 1 - me); });
  at_both("reduction to all", [] { return CCS_allreduce(local, landing, 1000, CCS_INT32, CCS_SUM); });
}

/// Allocations fail while both ranks allocate symmetric memory. Both get it, or both get the same error.
void allocate() {
  lci_test::sweep_allocations([](long good) {
    void* at = nullptr;
    int rc = 0;
    long failures = 0;
    if (me == 0) {
      const failing_memory shortage(0, good, 1);
      rc = CCS_malloc_symmetric(8192, &at);
      failures = failing_memory::failures();
    } else {
      rc = CCS_malloc_symmetric(8192, &at);
    }
    int first[2] = {rc, failures > 0 ? 1 : 0};
    EXPECT(CCS_bcast(first, sizeof first, CCS_DATA8, 0) == CCS_SUCCESS, "symmetric memory");
    EXPECT(first[0] == rc && (rc == CCS_SUCCESS) == (at != nullptr), "symmetric memory");
    if (at != nullptr) EXPECT(CCS_free_symmetric(at) == CCS_SUCCESS, "symmetric memory");
    return first[1];
  });
}

}  // namespace

int main() {
  alarm(200);
  if (CCS_init() != CCS_SUCCESS) return 2;
  CCS_get_rank(&me);
  CCS_new_context(&context);
  CCS_register_handler(context, 0, on_question);
  CCS_register_handler(context, 1, on_answer);
  CCS_register_handler(context, 2, on_large);
  ordered_shortage orders("ccs-no-memory");
  shared = &orders;
  void* at = nullptr;
  if (CCS_malloc_symmetric((1 << 20) + 64, &at) != CCS_SUCCESS) return 3;
  memory = static_cast<char*>(at);
  *reinterpret_cast<void**>(memory + (1 << 20)) = memory;
  spread();
  CCS_barrier();
  orders.use();
  meet();
  allocate();
  if (me == 0) {
    for (const long bad : {1, 5}) issue(bad);
    orders.dismiss();
  } else {
    orders.obey([] { CCS_poll(); });
  }
  CCS_barrier();
  CCS_free_symmetric(memory);
  EXPECT(CCS_finalize() == CCS_SUCCESS, "finalize");
  return failed == 0 ? 0 : 1;
}
