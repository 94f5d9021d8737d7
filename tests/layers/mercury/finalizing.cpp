// HG_Finalize() with handles and requests that the program has not freed.
#include <mercury_callback.h>

#include "tests/layers/mercury/functions.hpp"

// The handles that are never freed keep their memory.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

using namespace test;

hg_handle_t kept = HG_HANDLE_NULL;
bool answers = false;

hg_return_t keep(hg_handle_t handle) {
  kept = handle;
  number_t out{42};
  return answers ? HG_Handler_start_output(handle, &out) : HG_SUCCESS;
}

na_addr_t own_address(na_class_t* na) {
  na_addr_t self = NA_ADDR_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(na, &self));
  return self;
}

/// Calls a function without arguments.
hg_request_t call(na_addr_t whom, hg_id_t id, number_t* out) {
  hg_request_t request = HG_REQUEST_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(whom, id, nullptr, out, &request));
  return request;
}

/// Calls itself, and executes the call.
hg_request_t call_keep(na_class_t* na, number_t* out) {
  const hg_id_t id = MERCURY_REGISTER("keep", void, number_t, keep);
  hg_request_t request = call(own_address(na), id, out);
  hg_status_t status = HG_FALSE;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_process(1000, &status));
  REQUIRE(status == HG_TRUE && kept != HG_HANDLE_NULL);
  return request;
}

na_class_t* initialize(const char* url) {
  na_class_t* const na = NA_Initialize(url, NA_TRUE);
  REQUIRE(na != nullptr);
  REQUIRE_HG(HG_SUCCESS, HG_Init(na));
  return na;
}

/// Nobody waits for such a handle, so all is finalized, soon; later uses of what was not freed are detected.
void handle_of_an_answered_call(const char* url) {
  answers = true;
  for (int i = 0; i < 2; ++i) {
    na_class_t* const na = initialize(url);
    number_t out{0};
    const hg_request_t request = call_keep(na, &out);
    const double begin = now();
    REQUIRE_HG(HG_SUCCESS, HG_Finalize());
    REQUIRE(now() - begin < 5);
    REQUIRE_HG(HG_FAIL, HG_Handler_free(kept));
    REQUIRE_HG(HG_FAIL, HG_Request_free(request));
    REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
  }
}

/// A thread may still execute such a call, so HG_Finalize() waits, but not for ever; then it can be called again.
void handle_of_an_unanswered_call(const char* url) {
  answers = false;
  na_class_t* const na = initialize(url);
  number_t out{0}, result{43};
  const hg_request_t request = call_keep(na, &out);
  const double begin = now();
  REQUIRE_HG(HG_FAIL, HG_Finalize());
  REQUIRE(now() - begin > 5 && now() - begin < 30);
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(kept, &result));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free(kept));
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  REQUIRE_HG(HG_SUCCESS, HG_Finalize());
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
}

/// Programs may free their bulk handles after HG_Finalize(): those of other processes, and their own.
void bulk_handles(const char* url) {
  for (const bool is_transferring : {false, true}) {
    na_class_t* const na = initialize(url);
    char memory[100];
    void* begin = memory;
    const size_t size = sizeof memory;
    hg_bulk_t mine = HG_BULK_NULL, copy = HG_BULK_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, &begin, &size, HG_BULK_READWRITE, &mine));
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &copy));
    hg_bulk_request_t request = HG_BULK_REQUEST_NULL;
    if (is_transferring) {
      na_addr_t self = NA_ADDR_NULL;
      REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(na, &self));
      REQUIRE_HG(HG_SUCCESS, HG_Bulk_transfer(HG_BULK_PULL, self, mine, 0, copy, 0, size, &request));
    }
    REQUIRE_HG(HG_FAIL, HG_Finalize());
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(mine));
    REQUIRE_CODE(NA_PROTOCOL_ERROR, NA_Finalize(na));
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(copy));
    hg_status_t status = HG_FALSE;
    if (is_transferring) REQUIRE_HG(HG_SUCCESS, HG_Bulk_wait(request, 1000, &status));
    REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
  }
}

/// Another process's handle does not delay HG_Finalize(), and can be freed afterwards.
void bulk_handle_of_another_process() {
  process owner({"own"});
  const std::string text = owner.line();
  std::string serialized;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    serialized += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  na_class_t* const na = initialize("tcp://127.0.0.1:0");
  hg_bulk_t theirs = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_deserialize(&theirs, serialized.data(), serialized.size()));
  REQUIRE_HG(HG_SUCCESS, HG_Finalize());
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(theirs));
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
  REQUIRE(owner.wait() == 0);
}

hg_context_t* the_context = nullptr;
int answers_ended = 0;
hg_return_t on_end(const hg_cb_info* info) {
  answers_ended += info->type == HG_CB_RESPOND ? 1 : 0;
  return HG_SUCCESS;
}
hg_return_t respond(hg_handle_t handle) {
  number_t out{42};
  REQUIRE_HG(HG_SUCCESS, HG_Respond(handle, the_context, on_end, nullptr, &out));
  return HG_Handler_free(handle);
}

/// A context of which no handle exists waits for the callback of HG_Respond().
void a_context_waits_for_callbacks_of_answers(const char* url) {
  na_class_t* const na = initialize(url);
  the_context = HG_Context_create();
  hg_context_t* const other = HG_Context_create();
  const hg_id_t id = MERCURY_REGISTER("respond", void, number_t, respond);
  number_t out{0};
  hg_request_t request = call(own_address(na), id, &out);
  hg_status_t status = HG_FALSE;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_process(1000, &status));
  REQUIRE(status == HG_TRUE);
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 5000, &status));
  REQUIRE(status == HG_TRUE && out.value == 42);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  REQUIRE_HG(HG_FAIL, HG_Context_destroy(the_context));
  REQUIRE_HG(HG_TIMEOUT, HG_Trigger(other, 0, 1, nullptr));  // it runs callbacks of its own only
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(other));
  REQUIRE_HG(HG_FAIL, HG_Context_destroy(the_context));
  const int before = answers_ended;
  REQUIRE_HG(HG_SUCCESS, HG_Trigger(the_context, 1000, 1, nullptr));
  REQUIRE(answers_ended == before + 1);
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(the_context));
  REQUIRE_HG(HG_SUCCESS, HG_Finalize());
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
}

/// Responds with a result that is too large for a message: HG_Respond() fails, and its callback never runs.
hg_return_t respond_too_much(hg_handle_t handle) {
  std::string large(5000, 'x');
  text_t out{large.data()};
  const hg_cb_t callback = [](const hg_cb_info*) {
    ++answers_ended;
    return HG_SUCCESS;
  };
  REQUIRE_HG(HG_SIZE_ERROR, HG_Respond(handle, the_context, callback, nullptr, &out));
  return HG_Handler_free(handle);
}

void a_failed_answer_has_no_callback(const char* url) {
  na_class_t* const na = initialize(url);
  the_context = HG_Context_create();
  const hg_id_t id = MERCURY_REGISTER("respond too much", void, text_t, respond_too_much);
  const na_addr_t self = own_address(na);
  text_t out{nullptr};
  hg_request_t request = HG_REQUEST_NULL;
  hg_status_t status = HG_FALSE;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(self, id, nullptr, &out, &request));
  REQUIRE_HG(HG_SIZE_ERROR, HG_Wait(request, 5000, &status));
  REQUIRE(status == HG_TRUE);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  const int before = answers_ended;
  REQUIRE_HG(HG_TIMEOUT, HG_Trigger(the_context, 20, 1, nullptr));
  REQUIRE(answers_ended == before);
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(the_context));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(na, self));
  REQUIRE_HG(HG_SUCCESS, HG_Finalize());
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
}

/// Programs may destroy their contexts after HG_Finalize(), although handles of them exist, and callbacks of a call and
/// of an answer have not run. After a second HG_Init() as well.
void contexts(const char* url) {
  for (const bool initializes_again : {false, true}) {
    na_class_t* na = initialize(url);
    the_context = HG_Context_create();
    const hg_id_t id = MERCURY_REGISTER("respond", void, number_t, respond);
    na_addr_t self = NA_ADDR_NULL;
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(na, &self));
    hg_handle_t called = HG_HANDLE_NULL, unused = HG_HANDLE_NULL, destroyed = HG_HANDLE_NULL;
    for (hg_handle_t* const h : {&called, &unused, &destroyed})
      REQUIRE_HG(HG_SUCCESS, HG_Create(the_context, self, id, h));
    REQUIRE_HG(HG_SUCCESS, HG_Destroy(destroyed));
    REQUIRE_HG(HG_SUCCESS, HG_Forward(called, on_end, nullptr, nullptr));
    hg_status_t status = HG_FALSE;
    REQUIRE_HG(HG_SUCCESS, HG_Handler_process(1000, &status));
    REQUIRE(status == HG_TRUE);
    REQUIRE_HG(HG_FAIL, HG_Context_destroy(the_context));
    REQUIRE_HG(HG_SUCCESS, HG_Finalize());
    REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
    if (initializes_again) na = initialize(url);
    REQUIRE_HG(HG_FAIL, HG_Destroy(called));
    REQUIRE_HG(HG_FAIL, HG_Destroy(unused));
    REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(the_context));
    if (!initializes_again) continue;
    REQUIRE_HG(HG_SUCCESS, HG_Finalize());
    REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
  }
}

/// A routine that tries to destroy the context in whose HG_Trigger() it runs.
hg_return_t shut_down(hg_handle_t handle) {
  REQUIRE_HG(HG_FAIL, HG_Context_destroy(the_context));
  number_t out{1};
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, &out));
  return HG_Handler_free(handle);
}

void a_routine_does_not_destroy_the_context_that_runs_it(const char* url) {
  na_class_t* const na = initialize(url);
  the_context = HG_Context_create();
  const hg_id_t id = MERCURY_REGISTER("shut down", void, number_t, shut_down);
  const na_addr_t self = own_address(na);
  number_t out{0};
  hg_request_t request = call(self, id, &out);
  unsigned ran = 0;
  for (const double limit = now() + 20; ran == 0; HG_Progress(the_context, 10)) {
    REQUIRE(now() < limit);
    HG_Trigger(the_context, 0, 2, &ran);  // 2: HG_Trigger() looks for more work after the routine
  }
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(the_context));
  hg_status_t status = HG_FALSE;
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 5000, &status));
  REQUIRE(status == HG_TRUE && out.value == 1);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(na, self));
  REQUIRE_HG(HG_SUCCESS, HG_Finalize());
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
}

/// A routine that tries to finalize HG, which the function that runs it still uses.
hg_return_t finalize(hg_handle_t handle) {
  const double begin = now();
  number_t out{1};
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, &out));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free(handle));
  REQUIRE_HG(HG_FAIL, HG_Finalize());
  REQUIRE(now() - begin < 5);
  return HG_SUCCESS;
}

hg_return_t finalize_again(const hg_cb_info* info) {
  REQUIRE_HG(HG_FAIL, HG_Finalize());
  *static_cast<bool*>(info->arg) = true;
  return HG_SUCCESS;
}

void routines_and_callbacks_do_not_finalize(const char* url) {
  na_class_t* const na = initialize(url);
  hg_context_t* const context = HG_Context_create();
  const hg_id_t id = MERCURY_REGISTER("finalize", void, number_t, finalize);
  const na_addr_t self = own_address(na);
  number_t out{0};
  hg_request_t request = call(self, id, &out);
  hg_status_t status = HG_FALSE;
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 5000, &status));
  REQUIRE(status == HG_TRUE && out.value == 1);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  hg_handle_t handle = HG_HANDLE_NULL;
  bool is_over = false;
  REQUIRE_HG(HG_SUCCESS, HG_Create(context, self, id, &handle));
  REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, finalize_again, &is_over, nullptr));
  for (const double limit = now() + 20; !is_over; HG_Progress(context, 10)) {
    REQUIRE(now() < limit);
    HG_Trigger(context, 0, 10, nullptr);
  }
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(context));
  REQUIRE_HG(HG_SUCCESS, HG_Finalize());
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
}

/// Prints a serialized handle.
int own() {
  na_class_t* const na = initialize("tcp://127.0.0.1:0");
  const size_t size = 100;
  hg_bulk_t memory = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &memory));
  std::string text(HG_Bulk_handle_get_serialize_size(memory), 0), digits;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_serialize(text.data(), text.size(), memory));
  for (const char c : text) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
    digits += two;
  }
  say(digits);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(memory));
  REQUIRE_HG(HG_SUCCESS, HG_Finalize());
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(na));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "own") return own();
  for (const char* url : {"self", "tcp://127.0.0.1:0"}) bulk_handles(url);
  bulk_handle_of_another_process();

  for (const char* url : {"self", "tcp://127.0.0.1:0"}) {
    handle_of_an_answered_call(url);
    a_context_waits_for_callbacks_of_answers(url);
    a_failed_answer_has_no_callback(url);
    contexts(url);
    a_routine_does_not_destroy_the_context_that_runs_it(url);
    routines_and_callbacks_do_not_finalize(url);
  }
  handle_of_an_unanswered_call("tcp://127.0.0.1:0");
  return 0;
}
