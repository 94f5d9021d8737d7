// Two processes with one network for calls and another one for transfers.
#include <memory>

#include "tests/layers/mercury/functions.hpp"

namespace {

using namespace test;

MERCURY_GEN_PROC(fill_in_t, ((hg_string_t)(bulk_name))((hg_bulk_t)(memory)))

/// HG with a class for calls and one for transfers.
struct two {
  two(const char* calls, const char* transfers, bool listen) : bulk(NA_Initialize(transfers, NA_TRUE)) {
    REQUIRE(bulk != nullptr);
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_init(bulk));
    h.emplace_back(std::make_unique<hg>(calls, listen, listen));
    na_class_t* found = nullptr;
    hg_bool_t flag = HG_FALSE;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_initialized(&flag, &found));
    REQUIRE(flag == HG_TRUE && found == bulk && found != h[0]->na);
  }
  ~two() {
    h.clear();
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_finalize());
    REQUIRE_CODE(NA_SUCCESS, NA_Finalize(bulk));
  }
  std::string bulk_name() const {
    char text[NA_MAX_ADDR_LEN];
    na_addr_t self = NA_ADDR_NULL;
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(bulk, &self));
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_to_string(bulk, text, sizeof text, self));
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(bulk, self));
    return text;
  }
  na_class_t* const bulk;
  std::vector<std::unique_ptr<hg>> h;
};

na_class_t* bulk_class = nullptr;

/// The server's function: pulls the caller's memory, doubles each byte and pushes it back, over the network that the
/// arguments name.
hg_return_t run_double(hg_handle_t handle) {
  fill_in_t in;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &in));
  na_addr_t origin = NA_ADDR_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_lookup_wait(bulk_class, in.bulk_name, &origin));
  const size_t size = HG_Bulk_handle_get_size(in.memory);
  hg_bulk_t local = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &local));
  void* at = nullptr;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(local, 0, size, HG_BULK_READWRITE, 1, &at, nullptr, nullptr));
  for (hg_bulk_op_t op : {HG_BULK_PULL, HG_BULK_PUSH}) {
    hg_bulk_request_t request = HG_BULK_REQUEST_NULL;
    hg_status_t status = HG_FALSE;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_transfer(op, origin, in.memory, 0, local, 0, size, &request));
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_wait(request, 20000, &status));
    REQUIRE(status == HG_TRUE);
    if (op == HG_BULK_PULL)
      for (size_t i = 0; i < size; ++i) static_cast<unsigned char*>(at)[i] *= 2;
  }
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(local));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(bulk_class, origin));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free_input(handle, &in));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, nullptr));
  return HG_Handler_free(handle);
}

int serve_with(const char* calls, const char* transfers) {
  const two t(calls, transfers, true);
  bulk_class = t.bulk;
  MERCURY_REGISTER("double", fill_in_t, void, run_double);
  say(t.h[0]->own_name());
  serve();
  return 0;
}

int call(const std::string& name, const char* calls, const char* transfers) {
  const two t(calls, transfers, false);
  const hg& h = *t.h[0];
  const hg_id_t id = MERCURY_REGISTER("double", fill_in_t, void, nullptr);
  const na_addr_t server = h.find(name);
  std::vector<unsigned char> bytes(1 << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(5, i);
  void* addresses[2] = {bytes.data(), bytes.data() + 1000};
  const size_t sizes[2] = {1000, bytes.size() - 1000};
  std::string bulk_name = t.bulk_name();
  fill_in_t in{bulk_name.data(), HG_BULK_NULL};
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(2, addresses, sizes, HG_BULK_READWRITE, &in.memory));
  REQUIRE_HG(HG_SUCCESS, h.call(server, id, &in, nullptr));
  // An address of the other class is misuse, which is found before anything is sent.
  na_addr_t other = NA_ADDR_NULL;
  hg_request_t request = HG_REQUEST_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(t.bulk, &other));
  REQUIRE_HG(HG_FAIL, HG_Forward(other, id, &in, nullptr, &request));
  REQUIRE(request == HG_REQUEST_NULL);
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(t.bulk, other));
  for (size_t i = 0; i < bytes.size(); ++i) REQUIRE(bytes[i] == static_cast<unsigned char>(pattern(5, i) * 2));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(in.memory));
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.end, nullptr, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_with(argv[2], argv[3]);
  if (role == "call") return call(argv[2], argv[3], argv[4]);
  process server({"serve", "tcp", "na+sm"});
  const std::string name = server.line();
  REQUIRE(!name.empty());
  REQUIRE(process({"call", name, "tcp", "na+sm"}).wait() == 0);
  REQUIRE(server.wait() == 0);
  return 0;
}
