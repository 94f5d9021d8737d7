// Peers that die, disconnect or do not exist: each operation with them ends with an error; other operations continue.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <memory>

#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

/// Receives one message, then does nothing, and makes no progress.
int sleep_for_ever(const char* url) {
  const network net(url, true);
  test::say(net.own_name());
  outcome got;
  char byte;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, &byte, 1, nullptr));
  net.until([&] { return got.done(); });
  test::say("received");
  pause();
  return 0;
}

/// Receives one message, then finalizes.
int leave() {
  const network net("tcp", true);
  test::say(net.own_name());
  outcome got;
  char byte;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, &byte, 1, nullptr));
  net.until([&] { return got.done(); });
  return 0;
}

/// Sends messages to the server until it is killed.
int send_for_ever(const std::string& name) {
  const network net("tcp");
  const na_addr_t server = net.find(name);
  std::string text(4096, 's');
  for (int i = 0;; ++i) {
    outcome sent;
    if (i == 100) test::say("sending");
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, text.data(), text.size(),
                                                    server, 1, nullptr));
    net.until([&] { return sent.done(); });
  }
}

void signal_to(const network& net, na_addr_t to) {
  outcome sent;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, "x", 1, to, 0, nullptr));
  net.until([&] { return sent.done(); });
}

/// If a process ends, by a signal or by finalizing, receives from it end with an error, and so do all later operations.
void waits_for(const char* role, bool killed) {
  const network net("tcp");
  test::process victim({role}), other({"sleep"});
  const na_addr_t peer = net.find(victim.line()), healthy = net.find(other.line());
  outcome from_victim, from_healthy, any, later;
  char a[8], b[8], c[8];
  na_op_id_t of_healthy = NA_OP_ID_NULL, of_any = NA_OP_ID_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &from_victim, a, 8, peer, 5, nullptr));
  REQUIRE_CODE(NA_SUCCESS,
               NA_Msg_recv_expected(net.c, net.x, outcome::store, &from_healthy, b, 8, healthy, 5, &of_healthy));
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &any, c, 8, &of_any));
  signal_to(net, peer);
  if (killed) {
    REQUIRE(victim.line() == "received");
    victim.kill(SIGKILL);
  }
  const double begin = test::now();
  net.until([&] { return from_victim.done(); });
  REQUIRE(test::now() - begin < 10);
  REQUIRE(from_victim.info.ret == NA_PROTOCOL_ERROR);
  // A small message may be sent before the peer's failure is detected.
  na_return_t code = NA_SUCCESS;
  for (int i = 0; i < 100 && code == NA_SUCCESS; ++i) {
    code = NA_Msg_send_unexpected(net.c, net.x, outcome::store, &later, "x", 1, peer, 0, nullptr);
    NA_Progress(net.c, net.x, 10);
    NA_Trigger(net.x, 0, 10, nullptr);
  }
  REQUIRE(code == NA_PROTOCOL_ERROR);
  REQUIRE_CODE(NA_PROTOCOL_ERROR, NA_Msg_recv_expected(net.c, net.x, outcome::store, &later, a, 8, peer, 6, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, peer));
  // Operations with other peers still work.
  REQUIRE(!from_healthy.done() && !any.done());
  signal_to(net, healthy);
  REQUIRE(other.line() == "received");
  REQUIRE_CODE(NA_SUCCESS, NA_Cancel(net.c, net.x, of_healthy));
  REQUIRE_CODE(NA_SUCCESS, NA_Cancel(net.c, net.x, of_any));
  net.until([&] { return from_healthy.done() && any.done(); });
  REQUIRE(from_healthy.info.ret == NA_CANCELED && any.info.ret == NA_CANCELED);
  REQUIRE(any.info.info.recv_unexpected.source == NA_ADDR_NULL);
  if (!killed) REQUIRE(victim.wait() == 0);
}

/// A server whose clients die still serves the other clients.
void serves_on() {
  const network net("tcp", true);
  for (int i = 0; i < 5; ++i) {
    test::process client({"send", net.own_name()});
    na_addr_t source = NA_ADDR_NULL;
    char buffer[4096];
    for (int k = 0; k < 200; ++k) {
      outcome got;
      REQUIRE_CODE(NA_SUCCESS,
                   NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, buffer, sizeof buffer, nullptr));
      net.until([&] { return got.done(); });
      REQUIRE(got.info.ret == NA_SUCCESS && got.info.info.recv_unexpected.actual_buf_size == 4096);
      REQUIRE(source == NA_ADDR_NULL || got.info.info.recv_unexpected.source == source);
      source = got.info.info.recv_unexpected.source;
    }
    outcome answer;
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &answer, buffer, sizeof buffer, source,
                                                  9, nullptr));
    REQUIRE(client.line() == "sending");
    client.kill(SIGKILL);
    net.until([&] { return answer.done(); });
    REQUIRE(answer.info.ret == NA_PROTOCOL_ERROR);
    // Messages that arrived before the failure may still be received; no others.
    bool quiet = false;
    while (!quiet) {
      outcome left;
      na_op_id_t id = NA_OP_ID_NULL;
      REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &left, buffer, sizeof buffer, &id));
      NA_Progress(net.c, net.x, 100);
      NA_Trigger(net.x, 0, 1, nullptr);
      if (left.done()) continue;
      quiet = true;
      REQUIRE_CODE(NA_SUCCESS, NA_Cancel(net.c, net.x, id));
      net.until([&] { return left.done(); });
    }
  }
}

/// Asks the peer, a process that runs "expose", for the handle of its memory.
na_mem_handle_t memory_of(const network& net, na_addr_t peer) {
  outcome received;
  char text[64];
  REQUIRE_CODE(NA_SUCCESS,
               NA_Msg_recv_expected(net.c, net.x, outcome::store, &received, text, sizeof text, peer, 1, nullptr));
  signal_to(net, peer);
  net.until([&] { return received.done(); });
  na_mem_handle_t theirs = NA_MEM_HANDLE_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_deserialize(net.c, &theirs, text, sizeof text));
  return theirs;
}

/// Sends that wait for a receiver's flow control end when it dies. So do puts and gets of its memory.
void floods_a_victim() {
  const network net("tcp");
  test::process victim({"expose"});
  const na_addr_t peer = net.find(victim.line());
  const na_mem_handle_t theirs = memory_of(net, peer);
  na_mem_handle_t mine = NA_MEM_HANDLE_NULL;
  std::vector<char> memory(1 << 20, 'm');
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, memory.data(), memory.size(), NA_MEM_READWRITE, &mine));
  outcome put;
  REQUIRE_CODE(NA_SUCCESS,
               NA_Put(net.c, net.x, outcome::store, &put, mine, 0, theirs, 0, memory.size(), peer, nullptr));
  net.until([&] { return put.done(); });
  REQUIRE(put.info.ret == NA_SUCCESS);
  std::vector<outcome> sent(30000);
  for (outcome& s : sent)
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_send_unexpected(net.c, net.x, outcome::store, &s, memory.data(), 4096, peer, 7, nullptr));
  for (int i = 0; i < 50; ++i) NA_Progress(net.c, net.x, 1);
  while (NA_Trigger(net.x, 0, 1000, nullptr) == NA_SUCCESS) {
  }
  REQUIRE(!sent.back().done());
  victim.kill(SIGKILL);
  for (outcome& s : sent) {
    net.until([&] { return s.done(); });
    REQUIRE(s.calls == 1 && (s.info.ret == NA_SUCCESS || s.info.ret == NA_PROTOCOL_ERROR));
  }
  REQUIRE(sent.back().info.ret == NA_PROTOCOL_ERROR);
  outcome get;
  const na_return_t code = NA_Get(net.c, net.x, outcome::store, &get, mine, 0, theirs, 0, memory.size(), peer, nullptr);
  if (code == NA_SUCCESS) net.until([&] { return get.done(); });
  REQUIRE((code == NA_SUCCESS ? get.info.ret : code) == NA_PROTOCOL_ERROR);
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(net.c, mine));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(net.c, theirs));
}

/// A context can be destroyed although a peer that has stopped does not answer its puts and gets. Then the network no
/// longer accesses their memory.
void destroys_a_context_whose_peer_has_stopped() {
  test::process victim({"expose"});
  network net("tcp");
  const na_addr_t peer = net.find(victim.line());
  outcome put, get;
  const na_mem_handle_t theirs = memory_of(net, peer);
  na_mem_handle_t mine = NA_MEM_HANDLE_NULL;
  auto memory = std::make_unique<std::vector<char>>(1 << 20, 'm');
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, memory->data(), memory->size(), NA_MEM_READWRITE, &mine));
  victim.kill(SIGSTOP);
  REQUIRE_CODE(NA_SUCCESS, NA_Put(net.c, net.x, outcome::store, &put, mine, 0, theirs, 0, 1000, peer, nullptr));
  REQUIRE_CODE(NA_SUCCESS,
               NA_Get(net.c, net.x, outcome::store, &get, mine, 0, theirs, 0, memory->size(), peer, nullptr));
  for (int i = 0; i < 5; ++i) NA_Progress(net.c, net.x, 10);
  REQUIRE_CODE(NA_SUCCESS, NA_Context_destroy(net.c, net.x));
  memory.reset();
  victim.kill(SIGCONT);
  // The class can still be used.
  net.x = NA_Context_create(net.c);
  REQUIRE(net.x != nullptr);
  test::process other({"sleep"});
  signal_to(net, net.find(other.line()));
  REQUIRE(other.line() == "received");
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(net.c, mine));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(net.c, theirs));
}

/// Gives the first peer access to memory, then makes progress, and receives nothing more.
int expose() {
  const network net("tcp", true);
  test::say(net.own_name());
  std::vector<char> memory(1 << 20), text(64);
  na_mem_handle_t mine = NA_MEM_HANDLE_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, memory.data(), memory.size(), NA_MEM_READWRITE, &mine));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_register(net.c, mine));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_serialize(net.c, text.data(), text.size(), mine));
  outcome got, sent;
  char byte;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, &byte, 1, nullptr));
  net.until([&] { return got.done(); });
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &sent, text.data(), text.size(),
                                                got.info.info.recv_unexpected.source, 1, nullptr));
  for (;;) {
    NA_Progress(net.c, net.x, 100);
    NA_Trigger(net.x, 0, 1, nullptr);
  }
}

/// Lookups of names at which no process listens, or at which another program listens.
void finds_nothing() {
  const network net("tcp");
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  REQUIRE(bind(s, reinterpret_cast<sockaddr*>(&at), size) == 0);
  REQUIRE(getsockname(s, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  const std::string name = "tcp://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  na_addr_t addr = NA_ADDR_NULL;
  REQUIRE_CODE(NA_PROTOCOL_ERROR, NA_Addr_lookup_wait(net.c, name.c_str(), &addr));
  REQUIRE(listen(s, 5) == 0);  // accepts, and does not answer
  outcome silent;
  na_op_id_t id = NA_OP_ID_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_lookup(net.c, net.x, outcome::store, &silent, name.c_str(), &id));
  REQUIRE(NA_Progress(net.c, net.x, 50) == NA_TIMEOUT);
  const double begin = test::now();
  REQUIRE_CODE(NA_SUCCESS, NA_Cancel(net.c, net.x, id));
  net.until([&] { return silent.done(); });
  REQUIRE(silent.info.ret == NA_CANCELED && silent.info.info.lookup.addr == NA_ADDR_NULL);
  REQUIRE(test::now() - begin < 1);
  REQUIRE_CODE(NA_SUCCESS, NA_Cancel(net.c, net.x, id));
  REQUIRE(NA_Progress(net.c, net.x, 50) == NA_TIMEOUT);
  close(s);
}

/// A process that listens on the port of a killed process gets another address.
void restarts() {
  const network net("tcp");
  auto first = std::make_unique<test::process>(std::vector<std::string>{"sleep"});
  const std::string name = first->line();
  const na_addr_t old = net.find(name);
  signal_to(net, old);
  first->kill(SIGKILL);
  first->wait();
  test::process second({"sleep_at", name});
  REQUIRE(second.line() == name);
  const na_addr_t fresh = net.find(name);
  REQUIRE(fresh != old);
  signal_to(net, fresh);
  REQUIRE(second.line() == "received");
  outcome never;
  char byte;
  // The failure of the first process may be detected at once or later.
  const na_return_t code = NA_Msg_recv_expected(net.c, net.x, outcome::store, &never, &byte, 1, old, 0, nullptr);
  if (code == NA_SUCCESS) net.until([&] { return never.done(); });
  REQUIRE((code == NA_SUCCESS ? never.info.ret : code) == NA_PROTOCOL_ERROR);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "sleep") return sleep_for_ever("tcp");
  if (role == "sleep_at") return sleep_for_ever(argv[2]);
  if (role == "leave") return leave();
  if (role == "expose") return expose();
  if (role == "send") return send_for_ever(argv[2]);
  waits_for("sleep", true);
  waits_for("leave", false);
  serves_on();
  floods_a_victim();
  destroys_a_context_whose_peer_has_stopped();
  finds_nothing();
  restarts();
  return 0;
}
