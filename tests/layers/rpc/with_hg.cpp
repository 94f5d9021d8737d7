// Programs of HG, with C types, and of lci/rpc.hpp call each other.
#include "tests/layers/mercury/functions.hpp"

#include "lci/rpc.hpp"
#include "tests/layers/rpc/throws.hpp"

namespace {

using namespace test;
namespace rpc = lci::rpc;

struct opened {
  int32_t ret = 0;
  int32_t event_id = 0;
  template <class A>
  void serialize(A& archive) {
    archive(ret, event_id);
  }
};

/// The server of tests/layers/mercury.
int serve_hg() {
  const hg h("tcp", true, true);
  say(h.own_name());
  serve();
  return 0;
}

/// A server with the same functions, over lci/rpc.hpp.
int serve_rpc() {
  const rpc::engine e("tcp://127.0.0.1");
  e.define("null", [] {});
  e.define("open", [](const std::string& path, uint64_t cookie) {
    return opened{static_cast<int32_t>(path.size()), static_cast<int32_t>(cookie)};
  });
  e.define("length", [](const std::string& text) {
    uint64_t hash = 0;
    for (const char c : text) hash = hash * 31 + static_cast<unsigned char>(c);
    return hash;
  });
  e.define("repeat", [](uint64_t n) { return std::string(n, 'r'); });
  e.define("throws", [](uint64_t) -> uint64_t { throw std::runtime_error("no"); });
  e.define("fill", [](const rpc::bulk& b, uint64_t offset, uint64_t size, uint64_t seed) {
    std::vector<unsigned char> bytes(size);
    for (uint64_t i = 0; i < size; ++i) bytes[i] = pattern(seed, i);
    b.sub(offset, size).push_x(bytes)().get();
    return size;
  });
  e.define("sum", [](const rpc::bulk& b) {
    std::vector<unsigned char> bytes(b.size());
    b.pull_x(bytes)().get();
    uint64_t sum = 0;
    for (const unsigned char c : bytes) sum += c;
    return sum;
  });
  e.define("stop", [&e] { e.stop(); });
  say(e.url());
  e.run();
  return 0;
}

void hg_calls_rpc(const std::string& name) {
  const hg h("tcp");
  const na_addr_t server = h.find(name);
  const hg_id_t null = HG_Register("null", nullptr, nullptr, nullptr);
  const hg_id_t open = MERCURY_REGISTER("open", open_in_t, open_out_t, nullptr);
  const hg_id_t length = MERCURY_REGISTER("length", text_t, number_t, nullptr);
  const hg_id_t repeat = MERCURY_REGISTER("repeat", number_t, text_t, nullptr);
  const hg_id_t throws = MERCURY_REGISTER("throws", number_t, number_t, nullptr);
  const hg_id_t fill = MERCURY_REGISTER("fill", bulk_in_t, number_t, nullptr);
  const hg_id_t stop = HG_Register("stop", nullptr, nullptr, nullptr);
  REQUIRE_HG(HG_SUCCESS, h.call(server, null, nullptr, nullptr));
  for (size_t n : {0, 1, 100, 4000, 5000, 100000}) {
    const std::string path(n, 'p');
    open_in_t in{path.c_str(), 77};
    open_out_t out{};
    REQUIRE_HG(HG_SUCCESS, h.call(server, open, &in, &out));
    REQUIRE(out.ret == static_cast<int>(n) && out.event_id == 77);
  }
  open_in_t no_path{nullptr, 5};
  open_out_t opened{};
  REQUIRE_HG(HG_SUCCESS, h.call(server, open, &no_path, &opened));
  REQUIRE(opened.ret == 0);
  number_t in{1000}, out{};
  text_t text{nullptr};
  hg_request_t request = HG_REQUEST_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(server, repeat, &in, &text, &request));
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 20000, HG_STATUS_IGNORE));
  REQUIRE(std::string(text.text) == std::string(1000, 'r'));
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  // HG does not accept results in parts.
  in.value = 100000;
  REQUIRE_HG(HG_SIZE_ERROR, h.call(server, repeat, &in, &text));
  REQUIRE_HG(HG_FAIL, h.call(server, throws, &in, &out));
  // Arguments of wrong types: too few bytes, and too many.
  REQUIRE_HG(HG_PROTOCOL_ERROR, h.call(server, length, nullptr, nullptr));
  open_in_t two{"a", 1};
  hg_request_t other = HG_REQUEST_NULL;
  const hg_id_t wrong = MERCURY_REGISTER("length", open_in_t, number_t, nullptr);
  REQUIRE_HG(HG_SUCCESS, HG_Forward(server, wrong, &two, &out, &other));
  REQUIRE_HG(HG_PROTOCOL_ERROR, HG_Wait(other, 20000, HG_STATUS_IGNORE));
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(other));
  std::vector<unsigned char> memory(100000);
  void* pointer = memory.data();
  const size_t size = memory.size();
  hg_bulk_t handle = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, &pointer, &size, HG_BULK_READWRITE, &handle));
  bulk_in_t b{handle, 1000, 5000, 3};
  REQUIRE_HG(HG_SUCCESS, h.call(server, fill, &b, &out));
  REQUIRE(out.value == 5000 && memory[999] == 0 && memory[6000] == 0);
  for (size_t i = 0; i < 5000; ++i) REQUIRE(memory[1000 + i] == pattern(3, i));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(handle));
  REQUIRE_HG(HG_SUCCESS, h.call(server, stop, nullptr, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
}

void rpc_calls_hg(const std::string& name) {
  const rpc::engine e("tcp://127.0.0.1", rpc::options().client());
  const rpc::peer server = e.connect(name);
  e.declare<void()>("null").on(server)();
  const auto open = e.declare<opened(std::string, uint64_t)>("open");
  for (size_t n : {0, 1, 100, 4000, 5000, 100000}) {
    const opened o = open.on(server)(std::string(n, 'p'), 77);
    REQUIRE(o.ret == static_cast<int>(n) && o.event_id == 77);
  }
  const auto repeat = e.declare<std::string(uint64_t)>("repeat");
  REQUIRE(repeat.on(server)(1000) == std::string(1000, 'r'));
  REQUIRE(throws<rpc::size_error>([&] { repeat.on(server)(100000); }));
  REQUIRE(throws<rpc::unknown_function_error>([&] { e.declare<void()>("nobody knows").on(server)(); }));
  REQUIRE(throws<rpc::no_answer_error>([&] { e.declare<void()>("silent").on(server)(); }));
  // HG sends no signature, so the error of a result that can't be decoded names only the call's signature.
  REQUIRE(throws<rpc::signature_error>(
      [&] { e.declare<std::vector<int>(std::string, uint64_t)>("open").on(server)("a", 1); }));
  std::vector<unsigned char> memory(100000);
  const rpc::bulk b = e.expose(memory);
  using transfer = uint64_t(rpc::bulk, uint64_t, uint64_t, uint64_t);
  e.declare<transfer>("push").on(server)(b, 1000, 5000, 3);
  for (size_t i = 0; i < 5000; ++i) REQUIRE(memory[1000 + i] == pattern(3, i));
  // A sub-range: HG adds its offset.
  e.declare<transfer>("push").on(server)(b.sub(20000, 10000), 100, 500, 7);
  for (size_t i = 0; i < 500; ++i) REQUIRE(memory[20100 + i] == pattern(7, i));
  REQUIRE(memory[20099] == 0 && memory[20600] == 0);
  e.declare<void()>("end").on(server)();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve_hg") return serve_hg();
  if (role == "serve_rpc") return serve_rpc();
  {
    process server({"serve_rpc"});
    hg_calls_rpc(server.line());
    REQUIRE(server.wait() == 0);
  }
  process server({"serve_hg"});
  rpc_calls_hg(server.line());
  REQUIRE(server.wait() == 0);
  return 0;
}
