// A server and two clients exchange messages. Each is looked up by its name and receives its own messages.
#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

constexpr int rounds = 300;

/// Answers each unexpected message with an expected one that has the same tag and the reversed text. Returns after each
/// client has sent "end".
int serve(int clients) {
  const network net("bmi+tcp://localhost:0", true);
  test::say(net.own_name());
  REQUIRE(NA_Msg_get_max_unexpected_size(net.c) == 4096);
  REQUIRE(NA_Msg_get_max_expected_size(net.c) == 4096);
  while (clients > 0) {
    std::vector<char> buffer(NA_Msg_get_max_unexpected_size(net.c));
    outcome got, sent;
    na_op_id_t id = NA_OP_ID_NULL;
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, buffer.data(), buffer.size(), &id));
    REQUIRE(id != NA_OP_ID_NULL);
    net.until([&] { return got.done(); });
    REQUIRE(got.info.ret == NA_SUCCESS && got.info.type == NA_CB_RECV_UNEXPECTED);
    const auto& m = got.info.info.recv_unexpected;
    REQUIRE(m.source != NA_ADDR_NULL && NA_Addr_is_self(net.c, m.source) == NA_FALSE);
    const std::string text(buffer.data(), m.actual_buf_size);
    if (text == "end") --clients;
    const std::string back(text.rbegin(), text.rend());
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &sent, back.data(), back.size(),
                                                  m.source, m.tag, NA_OP_ID_IGNORE));
    net.until([&] { return sent.done(); });
    REQUIRE(sent.info.ret == NA_SUCCESS && sent.info.type == NA_CB_SEND_EXPECTED);
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, m.source));
  }
  return 0;
}

int call(const std::string& name) {
  const network net("tcp");
  outcome looked_up;
  // With a line feed, as fgets() returns it.
  REQUIRE_CODE(NA_SUCCESS,
               NA_Addr_lookup(net.c, net.x, outcome::store, &looked_up, (name + "\n").c_str(), NA_OP_ID_IGNORE));
  net.until([&] { return looked_up.done(); });
  REQUIRE(looked_up.info.ret == NA_SUCCESS && looked_up.info.type == NA_CB_LOOKUP);
  const na_addr_t server = looked_up.info.info.lookup.addr;
  REQUIRE(net.name(server) == name);
  REQUIRE(net.find(name) == server);  // one connection, however often it is looked up
  for (int i = 0; i <= rounds; ++i) {
    const na_tag_t tag = i % 3 == 0 ? NA_Msg_get_max_tag(net.c) - static_cast<na_tag_t>(i) : static_cast<na_tag_t>(i);
    std::string text = "round " + std::to_string(i);
    if (i % 7 == 0) text.resize(4096, 'x');
    if (i % 11 == 0) text.clear();
    if (i == rounds) text = "end";
    std::string answer(4096, '?');
    outcome sent, got;
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &got, answer.data(), answer.size(),
                                                  server, tag, NA_OP_ID_IGNORE));
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, text.data(), text.size(),
                                                    server, tag, NA_OP_ID_IGNORE));
    net.until([&] { return sent.done() && got.done(); });
    REQUIRE(sent.calls == 1 && got.calls == 1);
    REQUIRE(sent.info.ret == NA_SUCCESS && sent.info.type == NA_CB_SEND_UNEXPECTED);
    REQUIRE(got.info.ret == NA_SUCCESS && got.info.type == NA_CB_RECV_EXPECTED);
    answer.resize(text.size());
    REQUIRE(answer == std::string(text.rbegin(), text.rend()));
  }
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, server));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return serve(std::atoi(argv[1]));
  if (argc == 3) return call(argv[2]);
  test::process server({"2"});
  const std::string name = server.line();
  REQUIRE(name.rfind("tcp://localhost:", 0) == 0);
  test::process one({"call", name}), two({"call", name});
  REQUIRE(one.wait() == 0);
  REQUIRE(two.wait() == 0);
  REQUIRE(server.wait() == 0);
  return 0;
}
