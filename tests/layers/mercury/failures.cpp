// Damaged messages, and processes that die: whoever waits gets a code, and nobody else is disturbed.
#include <csignal>

#include "tests/layers/mercury/functions.hpp"

namespace {

using namespace test;

constexpr const char* url = "tcp";
constexpr size_t largest = 4096;
constexpr size_t response_header_size = 32;

int serve_at() {
  const hg h(url, true, true);
  say(h.own_name());
  serve();
  return 0;
}

int end(const std::string& name) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.end, nullptr, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

/// Calls the function "open" of the server `times` times. Prints the code of each call, and if its result is right.
int open_often(const std::string& name, int times) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  for (int i = 0; i < times; ++i) {
    open_in_t in{"a path", 77};
    open_out_t out{0, 0};
    const hg_return_t code = h.call(server, h.ids.open, &in, &out);
    if (code == HG_SUCCESS) REQUIRE(out.ret == 6 && out.event_id == 77);
    say(HG_Error_to_string(code));
  }
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

/// A request as it is on the network, and who waits for its response.
struct captured {
  std::string bytes;
  na_addr_t source;
  na_tag_t tag;
};

captured capture(const network& net) {
  std::string buffer(largest, 0);
  outcome got;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, buffer.data(), buffer.size(),
                                                  NA_OP_ID_IGNORE));
  net.until([&] { return got.done(); });
  REQUIRE(got.info.ret == NA_SUCCESS);
  const auto& m = got.info.info.recv_unexpected;
  buffer.resize(m.actual_buf_size);
  return {buffer, m.source, m.tag};
}

/// What a server answers to these bytes.
std::string answer_to(const network& net, na_addr_t server, na_tag_t tag, const std::string& bytes) {
  std::string answer(largest, 0);
  outcome sent, got;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &got, answer.data(), answer.size(),
                                                server, tag, NA_OP_ID_IGNORE));
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, bytes.data(), bytes.size(),
                                                  server, tag, NA_OP_ID_IGNORE));
  net.until([&] { return got.done() && sent.done(); });
  REQUIRE(got.info.ret == NA_SUCCESS && sent.info.ret == NA_SUCCESS);
  uint32_t payload = 0;
  std::memcpy(&payload, answer.data() + 12, sizeof payload);
  REQUIRE(payload <= largest - response_header_size);
  answer.resize(response_header_size + payload);
  return answer;
}

hg_return_t result_in(const std::string& answer) {
  int32_t result = 0;
  std::memcpy(&result, answer.data() + 8, sizeof result);
  return static_cast<hg_return_t>(result);
}

void respond(const network& net, const captured& c, const std::string& bytes) {
  outcome sent;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &sent, bytes.data(), bytes.size(),
                                                c.source, c.tag, NA_OP_ID_IGNORE));
  net.until([&] { return sent.done(); });
  REQUIRE(sent.info.ret == NA_SUCCESS);
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, c.source));
}

/// This process is between a client and a server, and changes what they send.
void damaged_messages() {
  const network net(url, true);
  process server({"serve"});
  const std::string name = server.line();
  const na_addr_t server_address = net.find(name);
  na_tag_t tag = 1;

  process first({"open", net.own_name(), "1"});
  const captured request = capture(net);
  const std::string response = answer_to(net, server_address, tag++, request.bytes);
  REQUIRE(result_in(response) == HG_SUCCESS && response.size() > response_header_size);
  respond(net, request, response);
  REQUIRE(first.line() == "HG_SUCCESS" && first.wait() == 0);

  for (size_t i = 0; i < request.bytes.size(); ++i) {
    std::string changed = request.bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1 << i % 8);
    hg_return_t code = result_in(answer_to(net, server_address, tag++, changed));
    REQUIRE(code == HG_PROTOCOL_ERROR || code == HG_CHECKSUM_ERROR);
    code = result_in(answer_to(net, server_address, tag++, request.bytes.substr(0, i)));
    REQUIRE(code == HG_PROTOCOL_ERROR || code == HG_CHECKSUM_ERROR);
  }
  REQUIRE(result_in(answer_to(net, server_address, tag++, std::string(largest, 'x'))) == HG_PROTOCOL_ERROR);
  REQUIRE(result_in(answer_to(net, server_address, tag++, request.bytes)) == HG_SUCCESS);

  process client({"open", net.own_name(), std::to_string(2 * response.size() + 1)});
  for (size_t i = 0; i <= 2 * response.size(); ++i) {
    const captured c = capture(net);
    std::string changed = answer_to(net, server_address, tag++, c.bytes);
    const size_t at = i / 2;
    const bool is_whole = at == response.size(), is_cut = i % 2 == 1;
    if (is_cut)
      changed.resize(at);
    else if (!is_whole)
      changed[at] = static_cast<char>(changed[at] ^ 1 << at % 8);
    respond(net, c, changed);
    // What has been cut off a response may still be there of the one before.
    const std::string code = client.line();
    if (is_whole) REQUIRE(code == "HG_SUCCESS");
    if (!is_whole && !is_cut) REQUIRE(code == "HG_PROTOCOL_ERROR" || code == "HG_CHECKSUM_ERROR");
    if (is_cut) REQUIRE(code == "HG_PROTOCOL_ERROR" || code == "HG_CHECKSUM_ERROR" || code == "HG_SUCCESS");
  }
  REQUIRE(client.wait() == 0);
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, server_address));
  REQUIRE(process({"end", name}).wait() == 0);
  REQUIRE(server.wait() == 0);
}

void servers_that_die() {
  const hg h(url);
  {
    process server({"serve"});  // while it executes the call
    const na_addr_t address = h.find(server.line());
    REQUIRE_HG(HG_NA_ERROR, h.call(address, h.ids.die, nullptr, nullptr));
    REQUIRE(server.wait() == 5);
    const double begin = now();  // before the call
    REQUIRE_HG(HG_NA_ERROR, h.call(address, h.ids.null, nullptr, nullptr));
    REQUIRE(now() - begin < 10);
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, address));
  }
  process server({"serve"});
  const std::string name = server.line();
  const na_addr_t address = h.find(name);
  hg_request_t request = HG_REQUEST_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(address, h.ids.keep, nullptr, nullptr, &request));
  REQUIRE(server.line() == "kept");
  hg_status_t status = HG_TRUE;
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 100, &status));
  REQUIRE(status == HG_FALSE);
  server.kill(SIGKILL);
  REQUIRE_HG(HG_NA_ERROR, HG_Wait(request, 20000, &status));
  REQUIRE(status == HG_TRUE);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, address));
}

int call_with_much_memory(const std::string& name) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  const size_t size = size_t{64} << 20;
  hg_bulk_t memory = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &memory));
  for (;;) {
    bulk_in_t in{memory, 0, size, 1};
    number_t out{0};
    hg_request_t request = HG_REQUEST_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Forward(server, h.ids.pull, &in, &out, &request));
    say("called");
    REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 20000, HG_STATUS_IGNORE));
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  }
}

void clients_that_die() {
  process server({"serve"});
  const std::string name = server.line();
  for (int i = 0; i < 4; ++i) {
    process client({"much", name});
    REQUIRE(client.line() == "called");
    usleep(static_cast<useconds_t>(i) * 3000);
    client.kill(SIGKILL);
    client.wait();
    process good({"call", name});
    REQUIRE(good.wait() == 0);
  }
  REQUIRE(process({"end", name}).wait() == 0);
  REQUIRE(server.wait() == 0);
}

int call(const std::string& name) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  number_t in{41}, out{0};
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.pooled, &in, &out));
  REQUIRE(out.value == 42);
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_at();
  if (role == "open") return open_often(argv[2], std::atoi(argv[3]));
  if (role == "much") return call_with_much_memory(argv[2]);
  if (role == "call") return call(argv[2]);
  if (role == "end") return end(argv[2]);
  damaged_messages();
  std::puts("damaged messages: done");
  servers_that_die();
  std::puts("servers that die: done");
  clients_that_die();
  std::puts("clients that die: done");
  return 0;
}
