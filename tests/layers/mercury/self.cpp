// Calls of a process to itself, two networks in one program, several threads, and the callback model.
#include <mercury_callback.h>

#include <atomic>
#include <thread>

#include "tests/layers/mercury/functions.hpp"

namespace {

using namespace test;

hg_thread_pool_t* pool = nullptr;
std::atomic<int> executed{0};

hg_return_t run_add(hg_handle_t handle) {
  number_t n;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &n));
  ++n.value;
  ++executed;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, &n));
  return HG_Handler_free(handle);
}

hg_return_t run_add_in_pool(hg_handle_t handle) {
  hg_thread_pool_post(
      pool,
      [](void* h) -> void* {
        usleep(20000);
        run_add(h);
        return nullptr;
      },
      handle);
  return HG_SUCCESS;
}

/// Calls another function of this process, and waits for it.
hg_id_t add_id = 0;
hg_return_t run_nested(hg_handle_t handle) {
  number_t n, out{};
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &n));
  hg_request_t request = HG_REQUEST_NULL;
  hg_status_t status = HG_FALSE;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(HG_Handler_get_addr(handle), add_id, &n, &out, &request));
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 5000, &status));
  REQUIRE(status == HG_TRUE);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, &out));
  return HG_Handler_free(handle);
}

/// Copies from the caller's memory, which is in this process, without a transfer.
hg_return_t run_sum(hg_handle_t handle) {
  bulk_in_t in;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &in));
  void* at = nullptr;
  size_t size = 0;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(in.memory, 0, in.size, HG_BULK_READ_ONLY, 1, &at, &size, nullptr));
  number_t out{0};
  for (size_t i = 0; i < size; ++i) out.value += static_cast<unsigned char*>(at)[i];
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free_input(handle, &in));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, &out));
  return HG_Handler_free(handle);
}

template <class Done>
void trigger_until(hg_context_t* context, Done done) {
  const double limit = now() + 20;
  while (!done()) {
    REQUIRE(now() < limit);
    unsigned n = 0;
    while (HG_Trigger(context, 0, 1, &n) == HG_SUCCESS) REQUIRE(n == 1);
    if (!done()) HG_Progress(context, 100);
  }
}

hg_return_t on_failure(const hg_cb_info* info) {
  *static_cast<hg_return_t*>(info->arg) = info->ret;
  return HG_SUCCESS;
}

/// Calls a function of the own process that is registered without a routine. The result is that of a call to another
/// process which has none: HG_NO_MATCH.
void no_routine(const hg& h, na_addr_t self) {
  const hg_id_t id = MERCURY_REGISTER("no routine", number_t, number_t, nullptr);
  number_t in{1}, out{7};
  REQUIRE_HG(HG_NO_MATCH, h.call(self, id, &in, &out));
  REQUIRE(out.value == 7);
  hg_request_t request = HG_REQUEST_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(self, id, &in, &out, &request));
  hg_status_t status = HG_TRUE;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_process(0, &status));
  REQUIRE(status == HG_FALSE);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  hg_context_t* const context = HG_Context_create();
  hg_handle_t handle = HG_HANDLE_NULL;
  hg_return_t got = HG_SUCCESS;
  REQUIRE_HG(HG_SUCCESS, HG_Create(context, self, id, &handle));
  REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, on_failure, &got, &in));
  trigger_until(context, [&] { return got != HG_SUCCESS; });
  REQUIRE_HG(HG_NO_MATCH, got);
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(context));
}

void calls_of_itself() {
  const hg h("self", false, true);
  const na_addr_t self = h.self();
  add_id = MERCURY_REGISTER("add", number_t, number_t, run_add);
  const hg_id_t pooled = MERCURY_REGISTER("add in pool", number_t, number_t, run_add_in_pool);
  const hg_id_t nested = MERCURY_REGISTER("nested", number_t, number_t, run_nested);
  const hg_id_t sum = MERCURY_REGISTER("sum", bulk_in_t, number_t, run_sum);
  for (hg_id_t id : {add_id, pooled, nested}) {
    number_t in{41}, out{0};
    REQUIRE_HG(HG_SUCCESS, h.call(self, id, &in, &out));
    REQUIRE(out.value == 42);
  }
  no_routine(h, self);
  number_t in{1}, out{0};
  hg_request_t request = HG_REQUEST_NULL;
  hg_status_t status = HG_TRUE;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(self, pooled, &in, &out, &request));
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 2, &status));
  REQUIRE(status == HG_FALSE);
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 5000, &status));
  REQUIRE(status == HG_TRUE && out.value == 2);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  // HG_Handler_process() executes the call if it is called before HG_Wait().
  REQUIRE_HG(HG_SUCCESS, HG_Forward(self, add_id, &in, &out, &request));
  const int before = executed;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_process(0, &status));
  REQUIRE(status == HG_TRUE && executed == before + 1);
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 0, &status));
  REQUIRE(status == HG_TRUE && out.value == 2);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  // Without calls, it returns after the time limit.
  const double begin = now();
  REQUIRE_HG(HG_SUCCESS, HG_Handler_process(50, &status));
  REQUIRE(status == HG_FALSE && now() - begin > 0.045 && now() - begin < 2);

  unsigned char bytes[1000];
  uint64_t expected = 0;
  for (int i = 0; i < 1000; ++i) expected += bytes[i] = static_cast<unsigned char>(i * 7);
  void* at = bytes;
  const size_t size = sizeof bytes;
  bulk_in_t b{HG_BULK_NULL, 0, size, 0};
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, &at, &size, HG_BULK_READ_ONLY, &b.memory));
  REQUIRE_HG(HG_SUCCESS, h.call(self, sum, &b, &out));
  REQUIRE(out.value == expected);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(b.memory));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, self));
}

/// Contexts, handles and callbacks.
struct tally {
  hg_context_t* context;
  int left;
  int wrong = 0;
};

hg_return_t on_forward(const hg_cb_info* info) {
  auto* t = static_cast<tally*>(info->arg);
  number_t out{0};
  if (info->ret != HG_SUCCESS || info->type != HG_CB_FORWARD) ++t->wrong;
  if (HG_Get_output(info->info.forward.handle, &out) != HG_SUCCESS || out.value != 6) ++t->wrong;
  HG_Free_output(info->info.forward.handle, &out);
  if (--t->left <= 0) return HG_SUCCESS;
  number_t in{5};
  if (HG_Forward(info->info.forward.handle, on_forward, t, &in) != HG_SUCCESS) ++t->wrong;  // once more
  return HG_SUCCESS;
}

void callbacks(const std::string& name) {
  const hg h("tcp");
  const na_addr_t server = h.find(name);
  hg_context_t* context = HG_Context_create();
  REQUIRE(context != nullptr && context->na_class == h.na);
  unsigned n = 9;
  REQUIRE_HG(HG_TIMEOUT, HG_Progress(context, 10));
  REQUIRE_HG(HG_TIMEOUT, HG_Trigger(context, 10, 5, &n));
  REQUIRE(n == 0);
  tally t{context, 200};
  std::vector<hg_handle_t> handles(20, HG_HANDLE_NULL);
  for (hg_handle_t& handle : handles) {
    REQUIRE_HG(HG_SUCCESS, HG_Create(context, server, h.ids.pooled, &handle));
    number_t in{5};
    REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, on_forward, &t, &in));
    REQUIRE_HG(HG_FAIL, HG_Forward(handle, on_forward, &t, &in));  // one call at a time
  }
  trigger_until(context, [&] { return t.left <= -19; });
  REQUIRE(t.wrong == 0 && t.left == -19);
  for (hg_handle_t handle : handles) REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));

  hg_return_t got = HG_SUCCESS;
  hg_handle_t handle = HG_HANDLE_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Create(context, server, h.ids.nobody, &handle));
  REQUIRE_HG(HG_FAIL, HG_Context_destroy(context));
  REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, on_failure, &got, nullptr));
  trigger_until(context, [&] { return got != HG_SUCCESS; });
  REQUIRE_HG(HG_NO_MATCH, got);
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));

  got = HG_SUCCESS;
  REQUIRE_HG(HG_SUCCESS, HG_Create(context, server, h.ids.keep, &handle));
  REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, on_failure, &got, nullptr));
  REQUIRE_HG(HG_SUCCESS, HG_Cancel(handle));
  trigger_until(context, [&] { return got != HG_SUCCESS; });
  REQUIRE_HG(HG_FAIL, got);
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(context));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
}

/// HG_Cancel() wakes a thread that sleeps in HG_Progress(): no message ends its sleep.
void cancel_wakes_a_sleeper(const std::string& name) {
  const hg h("tcp");
  hg_context_t* const context = HG_Context_create();
  hg_handle_t handle = HG_HANDLE_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Create(context, h.find(name), h.ids.keep, &handle));
  hg_return_t got = HG_SUCCESS;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, on_failure, &got, nullptr));
  std::thread sleeps([&] {
    while (HG_Trigger(context, 0, 1, nullptr) != HG_SUCCESS) HG_Progress(context, 20000);
  });
  usleep(50000);  // until it sleeps
  REQUIRE_HG(HG_SUCCESS, HG_Cancel(handle));
  const double begin = now();
  sleeps.join();
  REQUIRE((got == HG_FAIL && now() - begin < 10));
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(context));
}

/// Counts the callbacks that ran in a thread which sleeps in HG_Progress() otherwise.
struct sleeper {
  hg_context_t* context = nullptr;
  std::atomic<int> forwarded{0}, responded{0};
};
sleeper* the_sleeper = nullptr;

hg_return_t on_forwarded(const hg_cb_info* info) {
  REQUIRE_HG(HG_SUCCESS, info->ret);
  ++the_sleeper->forwarded;
  return HG_SUCCESS;
}
hg_return_t on_responded(const hg_cb_info* info) {
  REQUIRE_HG(HG_SUCCESS, info->ret);
  ++the_sleeper->responded;
  return HG_SUCCESS;
}

/// Answers by another thread, while the thread that called this function sleeps again.
hg_return_t run_answered_elsewhere(hg_handle_t handle) {
  hg_thread_pool_post(
      pool,
      [](void* h) -> void* {
        usleep(50000);
        number_t out{1};
        REQUIRE_HG(HG_SUCCESS, HG_Respond(h, the_sleeper->context, on_responded, nullptr, &out));
        REQUIRE_HG(HG_SUCCESS, HG_Handler_free(h));
        return nullptr;
      },
      handle);
  return HG_SUCCESS;
}

/// A call of the own process wakes a thread that sleeps in HG_Progress() or HG_Handler_process(), and so do its answer
/// and its end.
void sleepers_execute_calls_of_itself() {
  const hg h("self", false, true);
  const na_addr_t self = h.self();
  add_id = MERCURY_REGISTER("add", number_t, number_t, run_add);
  const hg_id_t elsewhere = MERCURY_REGISTER("elsewhere", number_t, number_t, run_answered_elsewhere);
  sleeper s;
  the_sleeper = &s;
  s.context = HG_Context_create();
  constexpr unsigned long_ms = 20000;
  constexpr int rounds = 3;
  std::thread sleeps([&] {
    while (s.forwarded < 2 * rounds || s.responded < rounds) {
      unsigned n = 0;
      if (HG_Trigger(s.context, 0, 1, &n) != HG_SUCCESS) HG_Progress(s.context, long_ms);
    }
  });
  const auto soon = [](const std::atomic<int>& count, int n) {
    const double limit = now() + long_ms * 1e-3 / 2;
    while (count < n && now() < limit) usleep(1000);
    return count >= n;
  };
  hg_handle_t handle = HG_HANDLE_NULL, other = HG_HANDLE_NULL;
  number_t in{1}, out{0};
  REQUIRE_HG(HG_SUCCESS, HG_Create(s.context, self, add_id, &handle));
  REQUIRE_HG(HG_SUCCESS, HG_Create(s.context, self, elsewhere, &other));
  for (int i = 1; i <= rounds; ++i) {
    usleep(50000);  // until it sleeps
    REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, on_forwarded, nullptr, &in));
    REQUIRE(soon(s.forwarded, 2 * i - 1));
    usleep(50000);
    REQUIRE_HG(HG_SUCCESS, HG_Forward(other, on_forwarded, nullptr, &in));
    REQUIRE(soon(s.forwarded, 2 * i) && soon(s.responded, i));
  }
  sleeps.join();
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(other));
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(s.context));

  const int before = executed;
  std::thread server([] {
    hg_status_t status = HG_FALSE;
    REQUIRE_HG(HG_SUCCESS, HG_Handler_process(long_ms, &status));
    REQUIRE(status == HG_TRUE);
  });
  usleep(50000);
  hg_request_t request = HG_REQUEST_NULL;
  hg_status_t status = HG_FALSE;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(self, add_id, &in, &out, &request));
  REQUIRE(soon(executed, before + 1));
  server.join();
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 5000, &status));
  REQUIRE(status == HG_TRUE && out.value == 2);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, self));
}

/// A server in the callback model.
std::atomic<int> responded{0};
hg_return_t run_respond(hg_handle_t handle) {
  number_t n;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &n));
  ++n.value;
  static hg_context_t* const context = HG_Context_create();
  REQUIRE_HG(HG_SUCCESS, HG_Respond(
                             handle, context,
                             [](const hg_cb_info* info) {
                               REQUIRE(info->type == HG_CB_RESPOND && info->ret == HG_SUCCESS);
                               ++responded;
                               return HG_SUCCESS;
                             },
                             nullptr, &n));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free(handle));
  unsigned count = 0;
  while (HG_Trigger(context, 1000, 1, &count) != HG_SUCCESS) {
  }
  return HG_SUCCESS;
}

int serve_with(const char* url) {
  const hg h(url, true, true);
  MERCURY_REGISTER("respond", number_t, number_t, run_respond);
  say(h.own_name());
  serve();
  return 0;
}

/// Many threads of one process wait at the same time, for their calls, for transfers, and for calls to execute.
void threads(const std::string& name) {
  const hg h("tcp");
  const na_addr_t server = h.find(name);
  const hg_id_t respond = MERCURY_REGISTER("respond", number_t, number_t, nullptr);
  std::atomic<int> done{0};
  std::vector<std::thread> all;
  for (int k = 0; k < 4; ++k)
    all.emplace_back([&, k] {
      for (int i = 0; i < 100; ++i) {
        number_t in{static_cast<uint64_t>(k * 1000 + i)}, out{0};
        REQUIRE_HG(HG_SUCCESS, h.call(server, k == 0 ? respond : h.ids.pooled, &in, &out));
        REQUIRE(out.value == in.value + 1);
      }
      ++done;
    });
  // A thread that waits for a call that never completes returns after its time limit.
  all.emplace_back([&] {
    while (done < 4) {
      hg_status_t status = HG_TRUE;
      const double begin = now();
      REQUIRE_HG(HG_SUCCESS, HG_Handler_process(30, &status));
      REQUIRE(status == HG_FALSE && now() - begin >= 0.025 && now() - begin < 5);
    }
  });
  for (std::thread& t : all) t.join();
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
}

int end(const std::string& name) {
  const hg h("tcp");
  const na_addr_t server = h.find(name);
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.end, nullptr, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

/// NULL for what a function returns is HG_FAIL, in functions of bulk handles HG_INVALID_PARAM.
void null_arguments() {
  hg_id_t id = 0;
  hg_bool_t flag = HG_FALSE;
  na_class_t* na = nullptr;
  unsigned n = 0;
  hg_request_t none = HG_REQUEST_NULL;
  REQUIRE_HG(HG_FAIL, HG_Initialized(nullptr, &na));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_initialized(nullptr, &na));
  REQUIRE_HG(HG_FAIL, HG_Registered("some", nullptr, &id));
  REQUIRE_HG(HG_FAIL, HG_Registered(nullptr, &flag, &id));
  REQUIRE_HG(HG_SUCCESS, HG_Registered("some", &flag, nullptr));
  REQUIRE(HG_Register(nullptr, nullptr, nullptr, nullptr) == 0);
  for (int i = 0; i < 3; ++i)
    REQUIRE_HG(HG_FAIL, HG_Version_get(i == 0 ? nullptr : &n, i == 1 ? nullptr : &n, i == 2 ? nullptr : &n));
  REQUIRE_HG(HG_FAIL, HG_Wait(HG_REQUEST_NULL, 0, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Wait_all(1, nullptr, 0, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Wait_all(1, &none, 0, nullptr));
  REQUIRE_HG(HG_SUCCESS, HG_Wait_all(0, nullptr, 0, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Request_free(HG_REQUEST_NULL));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_process(0, nullptr));
  REQUIRE(HG_Handler_get_addr(HG_HANDLE_NULL) == NA_ADDR_NULL);
  REQUIRE(HG_Handler_get_na_class(HG_HANDLE_NULL) == nullptr);
  REQUIRE_HG(HG_FAIL, HG_Handler_get_input(HG_HANDLE_NULL, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Handler_get_input_buf(HG_HANDLE_NULL, nullptr, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Handler_get_output_buf(HG_HANDLE_NULL, nullptr, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Handler_free_input(HG_HANDLE_NULL, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Handler_start_output(HG_HANDLE_NULL, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Handler_start_response(HG_HANDLE_NULL, nullptr, 0));
  REQUIRE_HG(HG_FAIL, HG_Handler_free(HG_HANDLE_NULL));
  REQUIRE_HG(HG_FAIL, HG_Progress(nullptr, 0));
  REQUIRE_HG(HG_FAIL, HG_Trigger(nullptr, 0, 1, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Context_destroy(nullptr));
  REQUIRE_HG(HG_FAIL, HG_Get_output(HG_HANDLE_NULL, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Free_output(HG_HANDLE_NULL, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Cancel(HG_HANDLE_NULL));
  REQUIRE_HG(HG_FAIL, HG_Destroy(HG_HANDLE_NULL));
  REQUIRE_HG(HG_FAIL, HG_Respond(HG_HANDLE_NULL, nullptr, nullptr, nullptr, nullptr));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_handle_deserialize(nullptr, &n, sizeof n));
  hg_bulk_t bulk = HG_BULK_NULL;
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_handle_deserialize(&bulk, nullptr, 0));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_handle_serialize(&n, sizeof n, HG_BULK_NULL));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_wait(HG_BULK_REQUEST_NULL, 0, nullptr));
}

void life() {
  REQUIRE_HG(HG_FAIL, HG_Init(nullptr));
  REQUIRE_HG(HG_FAIL, HG_Finalize());
  REQUIRE(HG_Register("early", nullptr, nullptr, nullptr) == 0);
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_init(nullptr));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_finalize());
  na_class_t *na = NA_Initialize("self", NA_FALSE), *other = NA_Initialize("self", NA_FALSE), *found = nullptr;
  REQUIRE(na != nullptr && other != nullptr);
  hg_bool_t flag = HG_TRUE;
  REQUIRE_HG(HG_SUCCESS, HG_Initialized(&flag, nullptr));
  REQUIRE(flag == HG_FALSE);
  for (int i = 0; i < 3; ++i) {
    if (i == 1) REQUIRE_HG(HG_SUCCESS, HG_Bulk_init(other));  // two networks
    REQUIRE_HG(HG_SUCCESS, HG_Init(na));
    REQUIRE_HG(HG_FAIL, HG_Init(na));
    null_arguments();
    REQUIRE_HG(HG_SUCCESS, HG_Initialized(&flag, &found));
    REQUIRE(flag == HG_TRUE && found == na);
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_initialized(&flag, &found));
    REQUIRE(flag == HG_TRUE && found == (i == 1 ? other : na));
    const hg_id_t id = HG_Register("some", nullptr, nullptr, nullptr);
    REQUIRE(id != 0 && HG_Register("some", nullptr, nullptr, nullptr) == id);
    hg_id_t again = 0;
    REQUIRE_HG(HG_SUCCESS, HG_Registered("some", &flag, &again));
    REQUIRE(flag == HG_TRUE && again == id);
    REQUIRE_HG(HG_SUCCESS, HG_Registered("other", &flag, &again));
    REQUIRE(flag == HG_FALSE);
    // Two names whose hash, and so whose id, is the same.
    REQUIRE(HG_Register("bb", nullptr, nullptr, nullptr) != 0);
    REQUIRE(HG_Register("cA", nullptr, nullptr, nullptr) == 0);
    REQUIRE_HG(HG_SUCCESS, HG_Finalize());
    REQUIRE_HG(HG_FAIL, HG_Finalize());
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_finalize());
  }
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(other));
  REQUIRE_CODE(NA_INVALID_PARAM, NA_Finalize(na));
  REQUIRE_HG(HG_NA_ERROR, HG_Init(other));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_with(argv[2]);
  if (role == "end") return end(argv[2]);
  life();
  say("life: done");
  REQUIRE(hg_thread_pool_init(2, &pool) == HG_UTIL_SUCCESS);
  calls_of_itself();
  sleepers_execute_calls_of_itself();
  REQUIRE(hg_thread_pool_destroy(pool) == HG_UTIL_SUCCESS);
  say("calls of itself: done");
  process server({"serve", "tcp"});
  const std::string name = server.line();
  callbacks(name);
  cancel_wakes_a_sleeper(name);
  say("callbacks: done");
  threads(name);
  say("threads: done");
  REQUIRE(process({"end", name}).wait() == 0);
  server.kill(SIGKILL);  // it keeps a call
  return 0;
}
