// Peers that call without end, without reading answers, or with more bytes of arguments than the server accepts: the
// server's memory is bounded, and other processes are served meanwhile.
#include "lib/layers/mercury/functions.hpp"
#include "lib/layers/mercury/wire.hpp"
#include "tests/layers/mercury/functions.hpp"
#include "tests/layers/na/stranger.hpp"

namespace {

using namespace test;

constexpr const char* url = "tcp";
constexpr size_t largest = 4096;

/// A server whose program computes: a thread of the library stores calls, and none is executed.
int serve_nobody() {
  const hg h(url, true, true);
  say(h.own_name());
  for (;;) pause();
}

hg_return_t run_hold(hg_handle_t) { return HG_SUCCESS; }

/// Serves the usual functions, and "hold", which never answers.
int serve_and_hold() {
  const hg h(url, true, true);
  REQUIRE(MERCURY_REGISTER("hold", text_t, void, run_hold) != 0);
  say(h.own_name());
  serve();
  _exit(0);  // HG_Finalize() would wait for the answers
}

/// Calls "null", with as many arguments as fit in a message, as fast as possible. Reads no answer.
int flood(const std::string& name) {
  stranger s(name);
  s.introduce();
  std::string message(largest, 'f');
  mercury::request_header h;
  h.id = mercury::function_table::id_of("null");
  h.name_hash = mercury::function_table::hash_of("null");
  h.payload = static_cast<uint16_t>(message.size() - sizeof h);
  mercury::seal(h, message.data());
  s.send_until_disconnected(na::channel::direct_messages, message.data(), message.size(), false);
  _exit(0);  // without a disconnect
}

int call(const std::string& name, int times) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  for (int i = 0; i < times; ++i) {
    open_in_t in{"a path", 77};
    open_out_t out{0, 0};
    REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.open, &in, &out));
    REQUIRE(out.ret == 6 && out.event_id == 77);
  }
  return 0;
}

/// All at once, more than the server accepts.
int call_together(const std::string& name) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  std::vector<open_out_t> out(1000);
  std::vector<hg_request_t> requests(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    open_in_t in{"a path", i};
    REQUIRE_HG(HG_SUCCESS, HG_Forward(server, h.ids.open, &in, &out[i], &requests[i]));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    hg_status_t status = HG_FALSE;
    REQUIRE_HG(HG_SUCCESS, HG_Wait(requests[i], 20000, &status));
    REQUIRE(status == HG_TRUE && out[i].event_id == static_cast<int>(i));
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(requests[i]));
  }
  return 0;
}

/// The server accepts 1 MB of arguments of a peer.
int call_with_much(const std::string& name) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  const hg_id_t hold = MERCURY_REGISTER("hold", text_t, void, nullptr);
  std::string text(400000, 't'), long_text(2000000, 'l');
  text_t in{text.data()}, long_in{long_text.data()};
  number_t out{0};
  hg_request_t kept[2];
  for (hg_request_t& r : kept) REQUIRE_HG(HG_SUCCESS, HG_Forward(server, hold, &in, nullptr, &r));
  REQUIRE_HG(HG_NOMEM_ERROR, h.call(server, h.ids.length, &in, &out));
  REQUIRE_HG(HG_SIZE_ERROR, h.call(server, h.ids.length, &long_in, &out));
  text.resize(100000);
  in.text = text.data();
  for (int i = 0; i < 20; ++i) REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.length, &in, &out));
  for (hg_request_t& r : kept) REQUIRE_HG(HG_SUCCESS, HG_Request_free(r));
  return 0;
}

void floods_of_a_server_that_computes() {
  process server({"nobody"});
  const std::string name = server.line();
  const size_t before = resident_kib_of(server.pid());
  for (int i = 0; i < 4; ++i) REQUIRE(process({"flood", name}).wait() == 0);
  const size_t after = resident_kib_of(server.pid());
  std::fprintf(stderr, "calls that are not executed: %zu to %zu KiB\n", before, after);
  // Calls of peers that have left, and those of one that is there; each has a buffer for its answer.
  if (std::getenv("LCI_TEST_SANITIZER") == nullptr)
    REQUIRE(after < before + 2 * 4096 * (2 * largest + 768) / 1024 + 8192);
}

void floods_of_a_server_that_answers() {
  process server({"serve"});
  const std::string name = server.line();
  REQUIRE(process({"call", name, "10"}).wait() == 0);
  const size_t before = resident_kib_of(server.pid());
  {
    process attacker({"flood", name}), other({"flood", name});
    process client({"call", name, "2000"});
    REQUIRE(client.wait() == 0);
    REQUIRE(attacker.wait() == 0 && other.wait() == 0);
  }
  REQUIRE(process({"call", name, "10"}).wait() == 0);
  const size_t after = resident_kib_of(server.pid());
  std::fprintf(stderr, "calls whose answers are not read: %zu to %zu KiB\n", before, after);
  if (std::getenv("LCI_TEST_SANITIZER") == nullptr)
    REQUIRE(after < before + 2 * 4096 * (2 * largest + 768) / 1024 + 8192);
  REQUIRE(process({"end", name}).wait() == 0);
  REQUIRE(server.wait() == 0);
}

void settings() {
  for (const char* bad : {"0", "-1", "many", "10 ", "99999999999999999999"}) {
    setenv("NA_CALLS_PER_PEER", bad, 1);
    REQUIRE(NA_Initialize("tcp", NA_FALSE) == nullptr);
  }
  setenv("NA_CALLS_PER_PEER", "3", 1);
  setenv("NA_CALL_BYTES_PER_PEER", "1000000", 1);
  process server({"hold"});
  unsetenv("NA_CALLS_PER_PEER");
  unsetenv("NA_CALL_BYTES_PER_PEER");
  const std::string name = server.line();
  process much({"much", name}), together({"together", name});
  REQUIRE(together.wait() == 0 && much.wait() == 0);
  REQUIRE(process({"flood", name}).wait() == 0);
  REQUIRE(process({"end", name}).wait() == 0);
  REQUIRE(server.wait() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_at(url);
  if (role == "nobody") return serve_nobody();
  if (role == "hold") return serve_and_hold();
  if (role == "flood") return flood(argv[2]);
  if (role == "call") return call(argv[2], std::atoi(argv[3]));
  if (role == "together") return call_together(argv[2]);
  if (role == "much") return call_with_much(argv[2]);
  if (role == "end") return end_server(argv[2], url);
  settings();
  floods_of_a_server_that_computes();
  floods_of_a_server_that_answers();
  return 0;
}
