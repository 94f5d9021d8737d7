// A server executes calls of several clients. Each is a process.
#include <algorithm>

#include "tests/layers/mercury/functions.hpp"

namespace {

using namespace test;

void call_each(const hg& h, na_addr_t server) {
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.null, nullptr, nullptr));
  for (int i = 0; i < 200; ++i) {
    const std::string path(static_cast<size_t>(i), 'p');
    open_in_t in{path.c_str(), static_cast<hg_uint64_t>(i) * 3};
    open_out_t out{};
    REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.open, &in, &out));
    REQUIRE(out.ret == i && out.event_id == i * 3);
  }
}

/// Arguments of sizes around the largest message, and larger.
void call_with_long_arguments(const hg& h, na_addr_t server) {
  for (size_t size :
       {0, 1, 3000, 3900, 4020, 4030, 4031, 4032, 4033, 4034, 4040, 4054, 4055, 4056, 4096, 5000, 100000, 10000000}) {
    std::string text(size, 'a');
    number_t expected{0}, out{};
    for (size_t i = 0; i < size; ++i) {
      text[i] = static_cast<char>('a' + i % 26);
      expected.value = expected.value * 31 + static_cast<unsigned char>(text[i]);
    }
    text_t in{text.data()};
    REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.length, &in, &out));
    REQUIRE(out.value == expected.value);
    REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.hash, &in, &out));
    REQUIRE(out.value == size + 1 + 8);
  }
}

void call_with_long_results(const hg& h, na_addr_t server) {
  for (size_t size : {0, 1, 4000, 4063, 4064, 5000, 100000}) {
    number_t in{size};
    text_t out{nullptr};
    hg_request_t request = HG_REQUEST_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Forward(server, h.ids.repeat, &in, &out, &request));
    hg_status_t status = HG_FALSE;
    const hg_return_t code = HG_Wait(request, 20000, &status);
    REQUIRE(status == HG_TRUE);
    REQUIRE_HG(size <= 4063 ? HG_SUCCESS : HG_SIZE_ERROR, code);
    if (code == HG_SUCCESS) REQUIRE(std::string(out.text) == std::string(size, 'r'));
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
    REQUIRE(out.text == nullptr);
  }
}

void call_what_fails(const hg& h, na_addr_t server) {
  REQUIRE_HG(HG_NO_MATCH, h.call(server, h.ids.nobody, nullptr, nullptr));
  REQUIRE_HG(HG_FAIL, h.call(server, h.ids.silent, nullptr, nullptr));
  REQUIRE_HG(HG_FAIL, h.call(server, 12345, nullptr, nullptr));
  hg_request_t request = HG_REQUEST_NULL;
  REQUIRE_HG(HG_FAIL, HG_Forward(NA_ADDR_NULL, h.ids.null, nullptr, nullptr, &request));
  REQUIRE_HG(HG_FAIL, HG_Forward(server, h.ids.null, nullptr, nullptr, nullptr));
  REQUIRE_HG(HG_FAIL, HG_Wait(HG_REQUEST_NULL, 0, HG_STATUS_IGNORE));
  REQUIRE_HG(HG_FAIL, HG_Request_free(HG_REQUEST_NULL));
}

void call_many_at_once(const hg& h, na_addr_t server) {
  constexpr int n = 500;
  std::vector<number_t> in(n), out(n);
  std::vector<hg_request_t> requests(n);
  std::vector<hg_status_t> statuses(n, HG_FALSE);
  for (int i = 0; i < n; ++i) {
    in[i].value = static_cast<uint64_t>(i) << 32;
    REQUIRE_HG(HG_SUCCESS, HG_Forward(server, h.ids.pooled, &in[i], &out[i], &requests[i]));
  }
  // First a wait that times out, then one that does not.
  hg_status_t status = HG_TRUE;
  const double begin = now();
  REQUIRE_HG(HG_SUCCESS, HG_Wait(requests[n - 1], 5, &status));
  REQUIRE(status == HG_FALSE && now() - begin < 2);
  REQUIRE_HG(HG_SUCCESS, HG_Wait_all(n, requests.data(), 20000, statuses.data()));
  for (int i = 0; i < n; ++i) {
    REQUIRE(statuses[i] == HG_TRUE && out[i].value == in[i].value + 1);
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(requests[i]));
  }
  // Late responses to calls whose requests were freed do not affect later calls.
  for (int i = 0; i < 50; ++i) {
    REQUIRE_HG(HG_SUCCESS, HG_Forward(server, h.ids.pooled, &in[i], &out[i], &requests[i]));
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(requests[i]));
  }
  number_t one{1}, two{};
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.pooled, &one, &two));
  REQUIRE(two.value == 2);
}

/// More calls than a process may have outstanding at a peer: none is lost.
void flood(const hg& h, na_addr_t server) {
  std::vector<hg_request_t> requests(3000);
  for (hg_request_t& r : requests) REQUIRE_HG(HG_SUCCESS, HG_Forward(server, h.ids.null, nullptr, nullptr, &r));
  REQUIRE_HG(HG_SUCCESS, HG_Wait_all(static_cast<int>(requests.size()), requests.data(), 20000, HG_STATUS_IGNORE));
  for (hg_request_t r : requests) {
    hg_status_t status = HG_FALSE;
    REQUIRE_HG(HG_SUCCESS, HG_Wait(r, 0, &status));
    REQUIRE(status == HG_TRUE);
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(r));
  }
}

int call(const std::string& name, const char* url) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  call_each(h, server);
  call_with_long_arguments(h, server);
  call_with_long_results(h, server);
  call_what_fails(h, server);
  call_many_at_once(h, server);
  flood(h, server);
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_at(argv[2]);
  if (role == "call") return call(argv[2], argv[3]);
  if (role == "end") return end_server(argv[2], argv[3]);
  run_two_clients();
  return 0;
}
