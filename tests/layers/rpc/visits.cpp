// Clients of HG and of lci/rpc.hpp that come, call and go again and again: neither they nor the server keep descriptors
// or memory, and ids of peers are reused. The first argument is the number of clients.
#include <dirent.h>

#include <fstream>

#include "lci/rpc.hpp"
#include "tests/layers/mercury/functions.hpp"

namespace {

using namespace test;
namespace rpc = lci::rpc;

constexpr const char* url = "tcp";

int serve_typed() {
  const rpc::engine e("tcp://127.0.0.1");
  e.define("twice", [](int x) { return 2 * x; });
  e.define("length", [](const std::string& s) { return s.size(); });
  e.define("sum", [](const rpc::bulk& b) {
    std::string s(b.size(), 0);
    b.pull_x(s)().get();
    size_t sum = 0;
    for (const char c : s) sum += static_cast<unsigned char>(c);
    return sum;
  });
  e.define("end", [&e] { e.stop(); });
  say(e.url());
  e.run();
  return 0;
}

struct used {
  explicit used(pid_t pid) {
    const std::string at = "/proc/" + std::to_string(pid);
    DIR* const d = opendir((at + "/fd").c_str());
    while (readdir(d) != nullptr) ++descriptors;
    closedir(d);
    std::ifstream status(at + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.rfind("VmRSS:", 0) == 0) resident_kib = std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  size_t descriptors = 0, resident_kib = 0;
};

/// Compares what a process uses after a third of the clients, when ids of peers are in use for the second time, and at
/// the end.
void compare(const char* who, const used& before, const used& after) {
  std::fprintf(stderr, "%s: %zu to %zu descriptors, %zu to %zu KiB\n", who, before.descriptors, after.descriptors,
               before.resident_kib, after.resident_kib);
  REQUIRE(after.descriptors <= before.descriptors + 2);
  if (std::getenv("LCI_TEST_SANITIZER") == nullptr) REQUIRE(after.resident_kib < before.resident_kib + 4096);
}

template <class Visit>
void come_and_go(const char* who, pid_t server, int times, Visit visit) {
  const int third = times / 3;
  for (int i = 0; i < third; ++i) visit(i);
  const used before(server), own_before(getpid());
  for (int i = third; i < times; ++i) visit(i);
  usleep(100000);
  compare(who, before, used(server));
  compare("its clients", own_before, used(getpid()));
}

void visit_hg(const std::string& name, int i) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  open_in_t in{"a path", 77};
  open_out_t out{0, 0};
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.open, &in, &out));
  REQUIRE(out.ret == 6);
  if (i % 8 == 1) {  // arguments that the server fetches
    std::string text(20000, 't');
    text_t long_in{text.data()};
    number_t n{0};
    REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.length, &long_in, &n));
  }
  if (i % 8 == 3) {
    const size_t size = 30000;
    std::vector<unsigned char> bytes(size);
    for (size_t k = 0; k < size; ++k) bytes[k] = pattern(1, k);
    void* at = bytes.data();
    bulk_in_t bulk{HG_BULK_NULL, 0, size, 1};
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, &at, &size, HG_BULK_READ_ONLY, &bulk.memory));
    number_t wrong{1};
    REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.pull, &bulk, &wrong));
    REQUIRE(wrong.value == 0);
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(bulk.memory));
  }
  if (i % 8 == 5) {  // a call whose answer the client does not await
    hg_request_t request = HG_REQUEST_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Forward(server, h.ids.open, &in, &out, &request));
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  }
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
}

void visit_typed(const std::string& name, int i) {
  const rpc::engine e("tcp://127.0.0.1", rpc::options().client());
  const rpc::peer server = e.connect(name);
  REQUIRE(e.declare<int(int)>("twice").on(server)(i) == 2 * i);
  if (i % 8 == 1) REQUIRE(e.declare<size_t(std::string)>("length").on(server)(std::string(20000, 's')) == 20000);
  if (i % 8 == 3) {
    std::string memory(30000, '\1');
    REQUIRE(e.declare<size_t(rpc::bulk)>("sum").on(server)(e.expose(memory)) == 30000);
  }
  if (i % 8 == 5) (void)e.declare<int(int)>("twice").call_x(server, i)();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_at(url);
  if (role == "serve typed") return serve_typed();
  if (role == "end") return end_server(argv[2], url);
  const int times = std::atoi(role.c_str());
  {
    process server({"serve"});
    const std::string name = server.line();
    come_and_go("a server of HG", server.pid(), times, [&](int i) { visit_hg(name, i); });
    REQUIRE(process({"end", name}).wait() == 0);
    REQUIRE(server.wait() == 0);
  }
  process server({"serve typed"});
  const std::string name = server.line();
  come_and_go("an engine", server.pid(), times, [&](int i) { visit_typed(name, i); });
  const rpc::engine e("tcp://127.0.0.1", rpc::options().client());
  e.declare<void()>("end").on(e.connect(name))();
  REQUIRE(server.wait() == 0);
  return 0;
}
