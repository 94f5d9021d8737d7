// Connections to a server's port that send invalid requests, many requests, or nothing: they use a bounded number of
// descriptors and little memory, and other processes can still connect.
#include <arpa/inet.h>
#include <dirent.h>
#include <sys/socket.h>

#include <fstream>
#include <random>
#include <thread>

#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

size_t descriptors_of(pid_t pid) {
  DIR* const d = opendir(("/proc/" + std::to_string(pid) + "/fd").c_str());
  size_t n = 0;
  while (readdir(d) != nullptr) ++n;
  closedir(d);
  return n - 2;
}

size_t resident_kib_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

/// Answers each message until an empty one arrives.
int serve(const char* url) {
  const network net(url, true);
  test::say(net.own_name());
  for (;;) {
    char byte = 0;
    outcome got, sent;
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, &byte, 1, nullptr));
    net.until([&] { return got.done(); });
    const auto& m = got.info.info.recv_unexpected;
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_send_expected(net.c, net.x, outcome::store, &sent, &byte, 1, m.source, m.tag, nullptr));
    net.until([&] { return sent.done(); });
    if (m.actual_buf_size == 0) return 0;
  }
}

/// Connects and exchanges a message.
int call(const std::string& name, size_t size) {
  const network net("tcp");
  const na_addr_t server = net.find(name);
  char byte = 0, answer = 1;
  outcome sent, got;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &got, &answer, 1, server, 5, nullptr));
  REQUIRE_CODE(NA_SUCCESS,
               NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, &byte, size, server, 5, nullptr));
  net.until([&] { return sent.done() && got.done(); });
  REQUIRE(got.info.ret == NA_SUCCESS);
  return 0;
}

int connect_to(const std::string& name) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(s >= 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(name.substr(name.rfind(':') + 1))));
  REQUIRE(connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  return s;
}

/// The first bytes of a valid connection (network/tcp/outside/introduction.hpp).
std::string request() {
  std::string text = "LCIpeer1\x01";
  text.resize(64, '\0');
  for (size_t i = 16; i < 48; ++i) text[i] = static_cast<char>(i);
  return text;
}

void bad_request(const std::string& name, std::mt19937& random) {
  const int s = connect_to(name);
  std::string text;
  switch (random() % 6) {
    case 0:  // nothing
      break;
    case 1:  // noise
      text.resize(1 + random() % 2000);
      for (char& c : text) c = static_cast<char>(random());
      break;
    case 2:  // a truncated request
      text = request().substr(0, random() % request().size());
      break;
    case 3:  // a damaged request
      text = request();
      text[random() % text.size()] ^= static_cast<char>(1 << random() % 8);
      break;
    case 4: {  // a valid request whose answer is not read
      text = request();
      break;
    }
    default:  // a valid request with further bytes
      text = request() + std::string(100, 'x');
  }
  (void)send(s, text.data(), text.size(), MSG_NOSIGNAL);
  close(s);
}

/// Only processes with its key can connect to a server that listens for other hosts.
void serve_for_other_hosts() {
  char path[] = "/tmp/na_key.XXXXXX";
  const int fd = mkstemp(path);
  REQUIRE(fd >= 0 && write(fd, "not much of a key, but enough", 29) == 29);
  close(fd);
  setenv("LCI_ATTR_PEER_KEY_FILE", path, 1);
  {
    test::process server({"serve", "tcp://0.0.0.0:0"});
    const std::string name = server.line();
    const std::string near = "bmi+tcp://127.0.0.1" + name.substr(name.rfind(':'));
    REQUIRE(test::process({"call", near, "1"}).wait() == 0);
    setenv("LCI_ATTR_PEER_KEY_FILE", "", 1);
    REQUIRE(test::process({"be_refused", near}).wait() == 0);
    setenv("LCI_ATTR_PEER_KEY_FILE", path, 1);
    REQUIRE(test::process({"call", near, "0"}).wait() == 0);
    REQUIRE(server.wait() == 0);
  }
  unsetenv("LCI_ATTR_PEER_KEY_FILE");
  unlink(path);
}

int be_refused(const std::string& name) {
  const network net("tcp");
  na_addr_t addr = NA_ADDR_NULL;
  REQUIRE_CODE(NA_PROTOCOL_ERROR, NA_Addr_lookup_wait(net.c, name.c_str(), &addr));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve(argc > 2 ? argv[2] : "tcp");
  if (role == "call") return call(argv[2], std::stoul(argv[3]));
  if (role == "be_refused") return be_refused(argv[2]);
  serve_for_other_hosts();
  test::process server({"serve"});
  const std::string name = server.line();
  const auto good = [&](const char* size) {
    test::process client({"call", name, size});
    REQUIRE(client.wait() == 0);
  };
  good("1");
  const size_t descriptors = descriptors_of(server.pid()), memory = resident_kib_of(server.pid());
  std::mt19937 random(4);
  for (int i = 0; i < 10000; ++i) {
    bad_request(name, random);
    if (i % 2000 == 999) good("1");
  }
  // Many connections that send nothing and stay open.
  std::vector<int> silent;
  for (int i = 0; i < 600; ++i) silent.push_back(connect_to(name));
  good("1");
  REQUIRE(descriptors_of(server.pid()) < descriptors + 140);
  for (const int s : silent) close(s);
  usleep(300000);
  good("1");
  REQUIRE(descriptors_of(server.pid()) <= descriptors + 3);
  if (std::getenv("LCI_TEST_SANITIZER") == nullptr) REQUIRE(resident_kib_of(server.pid()) < memory + 4096);
  good("0");
  REQUIRE(server.wait() == 0);
  return 0;
}
