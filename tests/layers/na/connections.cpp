// Clients that connect and disconnect again and again, and processes that look each other up at the same time.
#include <dirent.h>

#include <fstream>

#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

struct used {
  size_t descriptors = 0, resident_kib = 0;
};

used resources() {
  used u;
  DIR* const d = opendir("/proc/self/fd");
  while (readdir(d) != nullptr) ++u.descriptors;
  closedir(d);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) u.resident_kib = std::strtoull(line.c_str() + 6, nullptr, 10);
  return u;
}

void exchange(const network& net, na_addr_t to, na_tag_t tag) {
  char byte = 1, answer = 0;
  outcome sent, got;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &got, &answer, 1, to, tag, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, &byte, 1, to, tag, nullptr));
  net.until([&] { return sent.done() && got.done(); });
  REQUIRE(got.info.ret == NA_SUCCESS);
}

void answer(const network& net) {
  char byte;
  outcome sent, got;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, &byte, 1, nullptr));
  net.until([&] { return got.done(); });
  REQUIRE(got.info.ret == NA_SUCCESS);
  const auto& m = got.info.info.recv_unexpected;
  REQUIRE_CODE(NA_SUCCESS,
               NA_Msg_send_expected(net.c, net.x, outcome::store, &sent, &byte, 1, m.source, m.tag, nullptr));
  net.until([&] { return sent.done(); });
}

/// Connects and disconnects several times in one process.
int visit(const std::string& name, int times) {
  used before;
  for (int i = 0; i < times; ++i) {
    const network net("tcp");
    exchange(net, net.find(name), static_cast<na_tag_t>(i));
    if (i == times / 3) before = resources();
  }
  const used after = resources();
  std::fprintf(stderr, "client: %zu to %zu descriptors, %zu to %zu KiB\n", before.descriptors, after.descriptors,
               before.resident_kib, after.resident_kib);
  REQUIRE(after.descriptors <= before.descriptors + 2);
  if (std::getenv("LCI_TEST_SANITIZER") == nullptr) REQUIRE(after.resident_kib < before.resident_kib + 8192);
  return 0;
}

void server_of_visitors(int times) {
  const network net("tcp", true);
  used before;
  test::process client({"visit", net.own_name(), std::to_string(times)});
  for (int i = 0; i < times; ++i) {
    answer(net);
    if (i == times / 3) before = resources();
  }
  REQUIRE(client.wait() == 0);
  for (int i = 0; i < 100; ++i) NA_Progress(net.c, net.x, 1);
  const used after = resources();
  std::fprintf(stderr, "server: %zu to %zu descriptors, %zu to %zu KiB\n", before.descriptors, after.descriptors,
               before.resident_kib, after.resident_kib);
  REQUIRE(after.descriptors <= before.descriptors + 2);
  if (std::getenv("LCI_TEST_SANITIZER") == nullptr) REQUIRE(after.resident_kib < before.resident_kib + 8192);
}

/// Looks the other process up at a given time. Then both send to, and receive from, the address that the lookup
/// returned.
int meet(const std::string& file, double when) {
  const network net("tcp", true);
  test::say(net.own_name());
  std::string other;
  while (other.empty()) {
    std::ifstream in(file);
    std::getline(in, other);
  }
  while (test::now() < when) {
  }
  const na_addr_t peer = net.find(other);
  for (int i = 0; i < 20; ++i) {
    char byte = static_cast<char>(i), theirs = -1;
    outcome sent, got;
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &got, &theirs, 1, peer, 8, nullptr));
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &sent, &byte, 1, peer, 8, nullptr));
    net.until([&] { return sent.done() && got.done(); });
    REQUIRE(got.info.ret == NA_SUCCESS && theirs == byte);
  }
  // Also with the address that came with a message.
  outcome sent, got;
  char byte = 0;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, &byte, 1, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, &byte, 1, peer, 0, nullptr));
  net.until([&] { return sent.done() && got.done(); });
  REQUIRE(net.name(got.info.info.recv_unexpected.source) == other);
  REQUIRE(got.info.info.recv_unexpected.source == peer);
  return 0;
}

void both_look_each_other_up(int round) {
  const std::string base = "/tmp/na_meet." + std::to_string(getpid()) + "." + std::to_string(round);
  // The times at which the processes start their lookups; either may be slightly earlier.
  const double when = test::now() + 0.25, apart = round % 5 == 0 ? 0 : (round % 5 - 2.5) * 100e-6;
  test::process one({"meet", base + "a", std::to_string(when)}),
      two({"meet", base + "b", std::to_string(when + apart)});
  const std::string a = one.line(), b = two.line();
  std::ofstream(base + "a") << b << "\n";
  std::ofstream(base + "b") << a << "\n";
  REQUIRE(one.wait() == 0);
  REQUIRE(two.wait() == 0);
  unlink((base + "a").c_str());
  unlink((base + "b").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "visit") return visit(argv[2], std::atoi(argv[3]));
  if (role == "meet") return meet(argv[2], std::atof(argv[3]));
  server_of_visitors(150);
  for (int round = 0; round < 15; ++round) both_look_each_other_up(round);
  return 0;
}
