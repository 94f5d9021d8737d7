// Read-modify-writes, requests, fences and notifications.
#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

int report(int failure) {
  if (failure != 0) throw_failure(failure, -1);
  return 0;
}

/// How many atomic operations on memory that this process has mapped make no progress, before one does.
constexpr unsigned most_without_progress = 512;
/// How many of them this thread has executed since it last made progress.
constinit thread_local unsigned without_progress __attribute__((tls_model("initial-exec"))) = 0;

/// Makes progress now and then, since the program may repeat the operation until another process changes the memory,
/// for example to take a lock: the messages of that process would wait for the thread that serves them in the
/// background, which gets little of a busy processor.
LCI_ALWAYS_INLINE inline void has_done_one(context& c) {
  if (LCI_LIKELY(++without_progress < most_without_progress)) return;
  without_progress = 0;
  c.net.progress();
}

long operand_of(int op, const void* ploc, int value) {
  if (op == ARMCI_SWAP) return *static_cast<const int*>(ploc);
  if (op == ARMCI_SWAP_LONG) return *static_cast<const long*>(ploc);
  return value;
}

int read_modify_write(const char* function, int op, void* ploc, void* prem, int value, int proc) {
  return or_code(function, [&] {
    context& c = running();
    if (!is_rmw(op))
      misuse(function,
             "op = " + std::to_string(op) +
                 ", but must be ARMCI_FETCH_AND_ADD, ARMCI_FETCH_AND_ADD_LONG, ARMCI_SWAP or ARMCI_SWAP_LONG");
    if (ploc == nullptr || prem == nullptr)
      throw error(FAIL, std::string(ploc == nullptr ? "ploc" : "prem") + " is NULL, but must be an address");
    check_proc(c, proc);
    const size_t size = is_long(op) ? sizeof(long) : sizeof(int);
    if (reinterpret_cast<uintptr_t>(prem) % size != 0)
      throw error(internal_failure, "prem must be a multiple of the " + std::to_string(size) + " bytes of its number");
    const long operand = operand_of(op, ploc, value);
    long before;
    if (c.mem.is_near(proc)) {
      before = armci_layer::read_modify_write(c.mem.locks_of(proc), op, c.mem.near_or_reach(proc, prem, size),
                                              reinterpret_cast<uint64_t>(prem), operand);
      has_done_one(c);
    } else {
      before = c.far.rmw(op, prem, operand, proc);
    }
    if (is_long(op))
      *static_cast<long*>(ploc) = before;
    else
      *static_cast<int*>(ploc) = static_cast<int>(before);
    return 0;
  });
}

}  // namespace

extern "C" {

int PARMCI_Rmw(int op, void* ploc, void* prem, int value, int proc) {
  context* const c = the_context;
  // The most frequent one, where nothing can be wrong.
  if (LCI_LIKELY(c != nullptr && op == ARMCI_FETCH_AND_ADD_LONG && ploc != nullptr && prem != nullptr &&
                 reinterpret_cast<uintptr_t>(prem) % sizeof(long) == 0 &&
                 static_cast<unsigned>(proc) < static_cast<unsigned>(c->size()))) {
    if (std::byte* const at = c->mem.near(proc, prem, sizeof(long))) {
      *static_cast<long*>(ploc) = armci_layer::read_modify_write(c->mem.locks_of(proc), ARMCI_FETCH_AND_ADD_LONG, at,
                                                                 reinterpret_cast<uint64_t>(prem), value);
      has_done_one(*c);
      return 0;
    }
  }
  return read_modify_write("ARMCI_Rmw", op, ploc, prem, value, proc);
}
ARMCI_TWIN(Rmw);

int PARMCI_Wait(armci_hdl_t* req) {
  if (req == nullptr || *req == 0) return 0;
  return or_code("ARMCI_Wait", [&] {
    context& c = running();
    const handle_table::holder request = c.handles.find(*req);
    request_state* const state = request.state();
    if (state == nullptr) {
      complete(c, req);
      return 0;
    }
    c.net.wait(-1, [&] { return state->pending.load(std::memory_order_acquire) == 0; });
    const int failure = state->failure.exchange(0, std::memory_order_relaxed);
    c.handles.end(req);
    return report(failure);
  });
}
ARMCI_TWIN(Wait);

int PARMCI_Test(armci_hdl_t* req) {
  if (req == nullptr || *req == 0) return 0;
  int pending = 0;
  const int failure = or_code("ARMCI_Test", [&] {
    context& c = running();
    const handle_table::holder request = c.handles.find(*req);
    request_state* const state = request.state();
    if (state == nullptr) {
      complete(c, req);
      return 0;
    }
    if (!c.far.is_complete(*state)) {
      pending = 1;
      return 0;
    }
    const int failed = state->failure.exchange(0, std::memory_order_relaxed);
    c.handles.end(req);
    return report(failed);
  });
  return failure != 0 ? failure : pending;
}
ARMCI_TWIN(Test);

int PARMCI_WaitProc(int proc) {
  return or_code("ARMCI_WaitProc", [&] {
    context& c = running();
    check_proc(c, proc);
    return report(c.far.wait_for_all(proc));
  });
}
ARMCI_TWIN(WaitProc);

int PARMCI_WaitAll(void) {
  return or_code("ARMCI_WaitAll", [&] { return report(running().far.wait_for_all(-1)); });
}
ARMCI_TWIN(WaitAll);

void ARMCI_INIT_HANDLE(armci_hdl_t* req) {
  if (req != nullptr) *req = 0;
}

void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t* req) {
  or_end("ARMCI_SET_AGGREGATE_HANDLE", [&] {
    if (req == nullptr) throw error(FAIL, "the handle is NULL, but must be an address");
    running().handles.make_aggregate(req);
  });
}
void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t* req) {
  or_end("ARMCI_UNSET_AGGREGATE_HANDLE", [&] {
    if (req != nullptr) running().handles.unmake_aggregate(req);
  });
}

int PARMCI_Fence(int proc) {
  // What was stored directly is complete.
  const context* const now = the_context;
  if (LCI_LIKELY(now != nullptr && static_cast<unsigned>(proc) < static_cast<unsigned>(now->size()) &&
                 now->mem.is_near(proc)))
    return 0;
  return or_code("ARMCI_Fence", [&] {
    context& c = running();
    check_proc(c, proc);
    c.far.fence(proc);
    return 0;
  });
}
ARMCI_TWIN(Fence);

int PARMCI_AllFence(void) {
  return or_code("ARMCI_AllFence", [] {
    running().fence_all();
    return 0;
  });
}
ARMCI_TWIN(AllFence);

void PARMCI_GroupFence(ARMCI_Group* g) {
  or_end("ARMCI_GroupFence", [&] {
    context& c = running();
    for (const int m : member_of("ARMCI_GroupFence", c, g).members) c.far.fence(m);
  });
}
ARMCI_TWIN(GroupFence);

void PARMCI_Barrier(void) {
  or_end("ARMCI_Barrier", [] {
    context& c = running();
    c.fence_all();
    c.all.barrier(c.world());
  });
}
ARMCI_TWIN(Barrier);

int armci_notify(int proc) {
  return or_end("armci_notify", [&] {
    context& c = running("armci_notify");
    check_proc("armci_notify", c, proc);
    const uint32_t number = c.sent_notifications[proc].fetch_add(1, std::memory_order_relaxed) + 1;
    if (control* const there = c.mem.control_of(proc)) {
      there->notified()[c.me()].fetch_add(1, std::memory_order_seq_cst);                // R1, S1
      if (there->waiting.load(std::memory_order_seq_cst) != 0) c.net.ask(proc, false);  // S1: pairs with S2
    } else {
      c.far.tell(wire::kind::notify, nullptr, proc);
    }
    return static_cast<int>(number);
  });
}

int armci_notify_wait(int proc, int* pval) {
  return or_end("armci_notify_wait", [&] {
    context& c = running("armci_notify_wait");
    check_proc("armci_notify_wait", c, proc);
    const uint32_t number = c.awaited_notifications[proc].fetch_add(1, std::memory_order_relaxed) + 1;
    control& own = c.mem.own_control();
    const std::atomic<uint32_t>& come = own.notified()[proc];
    const auto has_come = [&] {
      return static_cast<int32_t>(come.load(std::memory_order_seq_cst) - number) >= 0;  // A1: pairs with R1; S2
    };
    if (!c.net.poll(has_come)) {
      // Either this thread sees the notification before it sleeps, or the other process sees that it waits (S2, S1).
      own.waiting.fetch_add(1, std::memory_order_seq_cst);  // S2
      const bool got = c.net.wait_asleep(proc, has_come);
      own.waiting.fetch_sub(1, std::memory_order_relaxed);
      if (!got) throw_failed(proc);
    }
    if (pval != nullptr) *pval = static_cast<int>(number);
    return static_cast<int>(come.load(std::memory_order_relaxed));
  });
}

}  // extern "C"
