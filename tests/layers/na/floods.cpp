// More messages than a receiver stores: each arrives exactly once, the receiver's memory is bounded, and messages to
// other peers are not delayed. main() starts this program again for the senders, with their role as first argument.
#include <fstream>
#include <memory>
#include <set>

#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

constexpr int n_messages = 40000, n_senders = 2;
constexpr size_t message_size = 4096;

size_t resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) / 1024;
  return 0;
}

struct numbered {
  int sender, number;
};

/// A sender: posts all its sends to `slow`, which posts no receives meanwhile. Messages to `quick` still arrive.
int flood(const std::string& slow, const std::string& quick, int sender) {
  const network net("tcp");
  const na_addr_t to_slow = net.find(slow), to_quick = net.find(quick);
  std::vector<char> text(message_size * n_messages);
  std::vector<outcome> sent(n_messages);
  const double begin = test::now();
  for (int i = 0; i < n_messages; ++i) {
    const numbered head{sender, i};
    std::memcpy(&text[i * message_size], &head, sizeof head);
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent[i], &text[i * message_size],
                                                    message_size, to_slow, static_cast<na_tag_t>(i), nullptr));
  }
  REQUIRE(test::now() - begin < 20);
  REQUIRE(!sent.back().done());
  // A send that waits can be cancelled.
  outcome cancelled;
  na_op_id_t id = NA_OP_ID_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &cancelled, text.data(), message_size,
                                                  to_slow, 0, &id));
  REQUIRE_CODE(NA_SUCCESS, NA_Cancel(net.c, net.x, id));
  net.until([&] { return cancelled.done(); });
  REQUIRE(cancelled.info.ret == NA_CANCELED);
  // Meanwhile messages to another peer arrive.
  outcome other;
  const numbered head{sender, 0};
  REQUIRE_CODE(NA_SUCCESS,
               NA_Msg_send_unexpected(net.c, net.x, outcome::store, &other, &head, sizeof head, to_quick, 0, nullptr));
  net.until([&] { return other.done(); });
  REQUIRE(other.info.ret == NA_SUCCESS && !sent.back().done());
  test::say("posted");
  for (outcome& s : sent) {
    net.until([&] { return s.done(); });
    REQUIRE(s.calls == 1 && s.info.ret == NA_SUCCESS);
  }
  return 0;
}

/// The receiver: receives nothing before the senders have posted all sends, and then all messages.
void receive_late(const network& slow, const network& quick) {
  std::vector<std::unique_ptr<test::process>> senders;
  for (int i = 0; i < n_senders; ++i)
    senders.push_back(std::make_unique<test::process>(
        std::vector<std::string>{"flood", slow.own_name(), quick.own_name(), std::to_string(i)}));
  const size_t before = resident_mib();
  for (int i = 0; i < n_senders; ++i) {
    outcome got;
    numbered head{};
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_recv_unexpected(quick.c, quick.x, outcome::store, &got, &head, sizeof head, nullptr));
    // The slow receiver makes progress but posts no receives.
    while (!got.done()) {
      NA_Progress(slow.c, slow.x, 1);
      NA_Progress(quick.c, quick.x, 1);
      NA_Trigger(quick.x, 0, 1, nullptr);
    }
    REQUIRE(got.info.ret == NA_SUCCESS);
  }
  for (auto& s : senders) REQUIRE(s->line() == "posted");
  for (int i = 0; i < 200; ++i) NA_Progress(slow.c, slow.x, 1);
  // The senders have sent 160 MiB each; the receiver may store 32 MiB of each, and messages in flight.
  const size_t grown = resident_mib() - before;
  std::fprintf(stderr, "%zu MiB are held for %d senders\n", grown, n_senders);
  REQUIRE(grown < 130);
  std::set<std::pair<int, int>> seen;
  std::vector<char> buffer(message_size);
  for (int i = 0; i < n_senders * n_messages; ++i) {
    outcome got;
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_recv_unexpected(slow.c, slow.x, outcome::store, &got, buffer.data(), buffer.size(), nullptr));
    slow.until([&] { return got.done(); });
    const auto& m = got.info.info.recv_unexpected;
    REQUIRE(got.info.ret == NA_SUCCESS && m.actual_buf_size == message_size);
    numbered head;
    std::memcpy(&head, buffer.data(), sizeof head);
    REQUIRE(static_cast<int>(m.tag) == head.number && seen.insert({head.sender, head.number}).second);
  }
  for (auto& s : senders) REQUIRE(s->wait() == 0);
}

/// A sender of expected messages, which arrive before the receiver has posted its receives.
int send_early(const std::string& name) {
  const network net("tcp");
  const na_addr_t to = net.find(name);
  std::vector<std::string> texts;
  std::vector<outcome> sent(2000);
  for (size_t i = 0; i < sent.size(); ++i) texts.push_back("early " + std::to_string(i));
  for (size_t i = 0; i < sent.size(); ++i)
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &sent[i], texts[i].data(),
                                                  texts[i].size(), to, static_cast<na_tag_t>(i), nullptr));
  for (outcome& s : sent) net.until([&] { return s.done(); });
  outcome last;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &last, "", 0, to, 0, nullptr));
  net.until([&] { return last.done(); });
  return 0;
}

void receive_early_ones(const network& net) {
  test::process sender({"early", net.own_name()});
  outcome who;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &who, nullptr, 0, nullptr));
  net.until([&] { return who.done(); });
  for (int i = 1999; i >= 0; --i) {
    char buffer[64] = {};
    outcome got;
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_recv_expected(net.c, net.x, outcome::store, &got, buffer, sizeof buffer,
                                      who.info.info.recv_unexpected.source, static_cast<na_tag_t>(i), nullptr));
    net.until([&] { return got.done(); });
    REQUIRE(got.info.ret == NA_SUCCESS && buffer == "early " + std::to_string(i));
  }
  REQUIRE(sender.wait() == 0);
}

/// Connects two processes: the one with an empty name listens and prints its name, the other one looks that up. Returns
/// the address of the other process.
na_addr_t connect_by_name(const network& net, const std::string& name) {
  outcome first;
  char byte = 0;
  if (name.empty()) {
    test::say(net.own_name());
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &first, &byte, 1, nullptr));
    net.until([&] { return first.done(); });
    return first.info.info.recv_unexpected.source;
  }
  const na_addr_t peer = net.find(name);
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &first, &byte, 1, peer, 0, nullptr));
  net.until([&] { return first.done(); });
  return peer;
}

/// Receives the other process's messages, then waits until this process's sends have completed.
void receive_flood(const network& net, std::vector<outcome>& sent) {
  std::vector<char> buffer(message_size);
  for (int i = 0; i < n_messages; ++i) {
    outcome got;
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, buffer.data(), buffer.size(), nullptr));
    net.until([&] { return got.done(); });
    REQUIRE(got.info.ret == NA_SUCCESS && got.info.info.recv_unexpected.tag == 7);
  }
  for (outcome& s : sent) {
    net.until([&] { return s.done(); });
    REQUIRE(s.info.ret == NA_SUCCESS);
  }
}

/// Both processes send many messages before they receive.
int exchange(const std::string& name) {
  const network net("tcp", name.empty());
  const na_addr_t peer = connect_by_name(net, name);
  std::string text(message_size, 'e');
  std::vector<outcome> sent(n_messages);
  for (outcome& s : sent)
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_send_unexpected(net.c, net.x, outcome::store, &s, text.data(), text.size(), peer, 7, nullptr));
  receive_flood(net, sent);
  return 0;
}

/// Both processes flood each other with unexpected messages, and receive none of them before an expected message has
/// arrived: the flood must not block it.
int flood_and_call(const std::string& name) {
  const network net("tcp", name.empty());
  const na_addr_t peer = connect_by_name(net, name);
  std::string text(message_size, 'e');
  std::vector<outcome> sent(n_messages);
  outcome call, called;
  char theirs = 0, mine = 1;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &called, &theirs, 1, peer, 9, nullptr));
  for (outcome& s : sent)
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_send_unexpected(net.c, net.x, outcome::store, &s, text.data(), text.size(), peer, 7, nullptr));
  REQUIRE(!sent.back().done());
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &call, &mine, 1, peer, 9, nullptr));
  net.until([&] { return called.done() && call.done(); });
  REQUIRE(called.info.ret == NA_SUCCESS && call.info.ret == NA_SUCCESS && theirs == 1);
  REQUIRE(!sent.back().done());
  receive_flood(net, sent);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "flood") return flood(argv[2], argv[3], std::atoi(argv[4]));
  if (role == "early") return send_early(argv[2]);
  if (role == "flood_and_call") return flood_and_call(argc > 2 ? argv[2] : "");
  if (role == "exchange") return exchange(argc > 2 ? argv[2] : "");
  {
    const network slow("tcp", true), quick("tcp", true);
    receive_late(slow, quick);
    receive_early_ones(slow);
  }
  for (const char* both : {"exchange", "flood_and_call"}) {
    test::process one({both});
    test::process two({both, one.line()});
    REQUIRE(one.wait() == 0 && two.wait() == 0);
  }
  return 0;
}
