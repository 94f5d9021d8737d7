// Several threads of a server execute calls while several threads of a client make them. The called function waits in
// HG_Bulk_wait() for its transfer.
#include <atomic>
#include <functional>
#include <thread>

#include "tests/layers/mercury/functions.hpp"

namespace {

using namespace test;

constexpr size_t size = 200000;
constexpr unsigned timeout = 100;  // milliseconds

std::atomic<bool> has_stopped{false};

hg_return_t run_stop(hg_handle_t handle) {
  has_stopped = true;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, nullptr));
  return HG_Handler_free(handle);
}

void run_in_threads(int n, const std::function<void(int)>& body) {
  std::vector<std::thread> all;
  for (int i = 0; i < n; ++i) all.emplace_back(body, i);
  for (std::thread& t : all) t.join();
}

/// Four threads execute calls. HG_Handler_process() of a thread that gets no call returns after about its timeout, also
/// while other threads wait in HG_Bulk_wait().
int serve_by_threads(const char* url) {
  const hg h(url, true, true);
  MERCURY_REGISTER("stop", void, void, run_stop);
  say(h.own_name());
  run_in_threads(4, [](int) {
    while (!has_stopped) {
      hg_status_t status = HG_FALSE;
      const double begin = now();
      REQUIRE_HG(HG_SUCCESS, HG_Handler_process(timeout, &status));
      if (status == HG_FALSE) REQUIRE(now() - begin < 10);
    }
  });
  return 0;
}

/// Each call of "push" makes a thread of the server push to this thread's memory.
void call_from_thread(const hg& h, na_addr_t server, int number) {
  std::vector<unsigned char> bytes(size);
  void* memory = bytes.data();
  hg_bulk_t exposed = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, &memory, &size, HG_BULK_READWRITE, &exposed));
  for (int i = 0; i < 100; ++i) {
    bulk_in_t in{exposed, 0, size, static_cast<hg_uint64_t>(number * 1000 + i)};
    number_t out{1};
    REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.push, &in, &out));
    REQUIRE(out.value == 0);
    for (size_t at = 0; at < size; ++at) REQUIRE(bytes[at] == pattern(in.seed, at));
  }
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(exposed));
}

void call_from_threads(const char* url) {
  process server({"serve", url});
  const hg h(url);
  const hg_id_t stop = MERCURY_REGISTER("stop", void, void, nullptr);
  const na_addr_t address = h.find(server.line());
  run_in_threads(6, [&](int i) { call_from_thread(h, address, i); });
  REQUIRE_HG(HG_SUCCESS, h.call(address, stop, nullptr, nullptr));
  REQUIRE(server.wait() == 0);
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, address));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) return serve_by_threads(argv[2]);
  for (const char* url : {"tcp", "na+sm"}) call_from_threads(url);
  return 0;
}
