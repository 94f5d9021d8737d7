// A receiver without memory for messages that no receive has matched: they are lost, its progress says so, and they do
// not fill the sender's window. Contexts can be destroyed meanwhile.
#include "tests/layers/na/processes.hpp"
#include "tests/support/failing_memory.hpp"

namespace {

using test::network;
using test::outcome;

/// A receiver stores `window` messages of a sender, and reports a quarter of it at a time.
constexpr int window = 8192, n_lost = window / 4;
constexpr size_t message_size = 4096;

/// Sends `n` messages, of which the receiver loses or stores each. All sends complete before a message is received.
int send_all(const std::string& name, size_t n) {
  const network net("tcp");
  const na_addr_t to = net.find(name);
  const std::string text(message_size, 'u');
  std::vector<outcome> sent(n);
  for (outcome& s : sent)
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_send_unexpected(net.c, net.x, outcome::store, &s, text.data(), text.size(), to, 1, nullptr));
  for (outcome& s : sent) {
    net.until([&] { return s.done(); });
    REQUIRE(s.info.ret == NA_SUCCESS);
  }
  test::say("sent");
  return 0;
}

void lose_and_store(const network& net) {
  test::process sender({"send", net.own_name(), std::to_string(n_lost + window)});
  int shortages = 0;
  {
    const lci_test::failing_memory shortage(message_size, 0, n_lost, 2 * message_size);
    const double end = test::now() + 30;
    while (lci_test::failing_memory::failures() < n_lost) {
      REQUIRE(test::now() < end);
      if (NA_Progress(net.c, net.x, 100) == NA_NOMEM_ERROR) ++shortages;
    }
  }
  REQUIRE(shortages > 0);
  std::vector<char> buffer(message_size);
  for (const double end = test::now() + 60; !sender.has_output(); NA_Progress(net.c, net.x, 1))
    REQUIRE(test::now() < end);
  for (int i = 0; i < window; ++i) {
    outcome got;
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, buffer.data(), buffer.size(), nullptr));
    net.until([&] { return got.done(); });
    REQUIRE(got.info.ret == NA_SUCCESS && got.info.info.recv_unexpected.actual_buf_size == message_size);
  }
  REQUIRE(sender.line() == "sent");
  REQUIRE(sender.wait() == 0);
}

void destroy_contexts(const network& net) {
  test::process sender({"send", net.own_name(), std::to_string(n_lost)});
  const lci_test::failing_memory shortage(message_size, 0, n_lost, 2 * message_size);
  const double end = test::now() + 30;
  while (lci_test::failing_memory::failures() < n_lost) {
    REQUIRE(test::now() < end);
    na_context_t* const x = NA_Context_create(net.c);
    REQUIRE(x != nullptr);
    REQUIRE_CODE(NA_SUCCESS, NA_Context_destroy(net.c, x));
  }
  REQUIRE(sender.line() == "sent");
  REQUIRE(sender.wait() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return send_all(argv[2], std::stoul(argv[3]));
  const network net("tcp", true);
  lose_and_store(net);
  destroy_contexts(net);
  return 0;
}
