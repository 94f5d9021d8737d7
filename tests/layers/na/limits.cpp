// Connected processes that exceed the limits which NA's own senders respect: the server disconnects them before they
// have filled its memory, and continues to serve others.
#include <fstream>

#include "lib/layers/na/active_messages.hpp"
#include "lib/layers/na/introductions.hpp"
#include "tests/layers/na/processes.hpp"

namespace {

using na::channel;
using na::introduction;
using test::network;
using test::outcome;

constexpr size_t message_size = 4096;

size_t resident_kib_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

/// Makes progress without receiving.
int store() {
  const network net("tcp", true);
  test::say(net.own_name());
  for (;;) NA_Progress(net.c, net.x, 100);
}

/// A process that speaks the protocol by the core's functions.
class stranger {
 public:
  explicit stranger(const std::string& name)
      : runtime_(lci::alloc_runtime_x().bootstrap("none").max_peers(2)()),
        answers_(lci::alloc_cq_x().runtime(runtime_)()) {
    for (int i = 0; i < 4; ++i) lci::register_rcomp_x(answers_).runtime(runtime_)();  // those of `channel`
    server_ = lci::connect_x(name).runtime(runtime_)().rank;
    question_.who.fill(7);
    std::strcpy(question_.name, "tcp://127.0.0.1:0/stranger");
  }
  ~stranger() {
    lci::free_comp_x(&answers_).runtime(runtime_)();
    lci::free_runtime(&runtime_);
  }
  stranger(const stranger&) = delete;
  stranger& operator=(const stranger&) = delete;

  void introduce() {
    question_.what = introduction::kind::claim;
    while (!send(channel::introductions, &question_, sizeof question_)) progress();
    const double end = test::now() + 30;
    lci::status_t s;
    while (!(s = lci::cq_pop_x(answers_).runtime(runtime_)()).is_done()) {
      REQUIRE(test::now() < end);
      progress();
    }
    introduction answer;
    REQUIRE(s.size == sizeof answer);
    std::memcpy(&answer, s.buffer, sizeof answer);
    std::free(s.buffer);
    REQUIRE(answer.what == introduction::kind::accepted);
  }
  /// Sends as often as possible until the server has disconnected this process. Reads nothing but, after a while without
  /// room, that.
  void send_until_disconnected(channel to, const void* bytes, size_t size) {
    constexpr int long_without_room = 1000;
    const double end = test::now() + 60;
    try {
      for (int refused = 0; test::now() < end;) {
        if (send(to, bytes, size)) {
          refused = 0;
          continue;
        }
        usleep(100);
        if (++refused > long_without_room) progress();
      }
    } catch (const lci::peer_failure_error&) {
      return;
    } catch (const lci::invalid_argument_error&) {  // the id is free already
      return;
    }
    REQUIRE(!"disconnected");
  }
  void ask_without_end() {
    question_.what = introduction::kind::who_are_you;
    send_until_disconnected(channel::introductions, &question_, sizeof question_);
  }

 private:
  bool send(channel to, const void* bytes, size_t size) {
    return !lci::post_am_x(server_, const_cast<void*>(bytes), size, lci::COMP_NULL_RETRY, static_cast<lci::rcomp_t>(to))
                .runtime(runtime_)()
                .is_retry();
  }
  void progress() { lci::progress_x().runtime(runtime_)(); }

  lci::runtime_t runtime_;
  lci::comp_t answers_;
  int server_ = -1;
  introduction question_;
};

void find(const std::string& name) {
  const network net("tcp");
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, net.find(name)));
}

/// Starts strangers as processes of their own, which may die.
void attack(const char* how, size_t may_grow_kib) {
  test::process server({"store"});
  const std::string name = server.line();
  find(name);
  const size_t before = resident_kib_of(server.pid());
  for (int i = 0; i < 2; ++i) {
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
  attack("asks", 8192);
  // Two peers' worth of stored messages, which the server keeps although their senders are gone.
  attack("sends", 2 * na::unexpected_messages::most_stored * (message_size + 256) / 1024 + 8192);
  return 0;
}
