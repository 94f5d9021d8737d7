// Connected processes that exceed the limits which NA's own senders respect: the server disconnects them before they
// have filled its memory, and continues to serve others.
#include "tests/layers/na/stranger.hpp"

namespace {

using na::channel;
using test::network;
using test::resident_kib_of;
using test::stranger;

constexpr size_t message_size = 4096;

/// Makes progress without receiving.
int store() {
  const network net("tcp", true);
  test::say(net.own_name());
  for (;;) NA_Progress(net.c, net.x, 100);
}

void find(const std::string& name) {
  const network net("tcp");
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, net.find(name)));
}

/// Sends as many unexpected messages as the target stores, and leaves.
int visit(const std::string& name) {
  const network net("tcp");
  const na_addr_t server = net.find(name);
  const std::string text(message_size, 'v');
  std::vector<test::outcome> sent(na::unexpected_messages::window);
  for (test::outcome& s : sent)
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, test::outcome::store, &s, text.data(), text.size(),
                                                    server, 0, nullptr));
  for (const test::outcome& s : sent) net.until([&] { return s.done(); });
  return 0;
}

/// Starts processes one after the other, which may be killed.
void attack(const char* how, size_t may_grow_kib, int times = 2) {
  test::process server({"store"});
  const std::string name = server.line();
  find(name);
  const size_t before = resident_kib_of(server.pid());
  for (int i = 0; i < times; ++i) {
    test::process attacker({how, name});
    REQUIRE(attacker.wait() == 0);
    find(name);
  }
  const size_t after = resident_kib_of(server.pid());
  std::fprintf(stderr, "%s: %zu to %zu KiB\n", how, before, after);
  if (std::getenv("LCI_TEST_SANITIZER") == nullptr) REQUIRE(after < before + may_grow_kib);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "store") return store();
  if (role == "asks") {
    stranger(argv[2]).ask_without_end();
    _exit(0);  // without a disconnect
  }
  if (role == "sends") {
    stranger s(argv[2]);
    s.introduce();
    const std::string text(message_size, 's');
    s.send_until_disconnected(channel::unexpected_messages, text.data(), text.size());
    _exit(0);
  }
  if (role == "calls") {
    stranger s(argv[2]);
    s.introduce();
    const std::string text(message_size, 'c');
    s.send_until_disconnected(channel::direct_messages, text.data(), text.size());
    _exit(0);
  }
  if (role == "changes") {
    stranger s(argv[2]);
    s.introduce();
    s.change_identity_until_disconnected();
    _exit(0);
  }
  if (role == "visits") return visit(argv[2]);
  attack("asks", 8192);
  // Messages of one peer, for the time before it is disconnected.
  constexpr size_t kib_each = (message_size + 256) / 1024;
  attack("sends", na::unexpected_messages::most_stored * kib_each + 8192);
  attack("calls", 4096 * kib_each + 8192, 3);
  attack("changes", 8192);
  // Messages of peers that have left, and those of one that is there.
  attack("visits", 2 * na::unexpected_messages::window * kib_each + 8192, 3);
  return 0;
}
