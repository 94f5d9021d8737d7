// HG_Finalize() with handles and requests that the program has not freed.
#include "tests/layers/mercury/functions.hpp"

namespace {

using namespace test;

hg_handle_t kept = HG_HANDLE_NULL;
bool answers = false;

hg_return_t keep(hg_handle_t handle) {
  kept = handle;
  number_t out{42};
  return answers ? HG_Handler_start_output(handle, &out) : HG_SUCCESS;
}

/// Calls itself, and executes the call.
hg_request_t call_keep(na_class_t* na, number_t* out) {
  const hg_id_t id = MERCURY_REGISTER("keep", void, number_t, keep);
  na_addr_t self = NA_ADDR_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(na, &self));
  hg_request_t request = HG_REQUEST_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(self, id, nullptr, out, &request));
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

}  // namespace

int main() {
  for (const char* url : {"self", "tcp://127.0.0.1:0"}) handle_of_an_answered_call(url);
  handle_of_an_unanswered_call("tcp://127.0.0.1:0");
  return 0;
}
