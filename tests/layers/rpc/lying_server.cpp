// Results that a server sends in parts, some of which don't fit together: the caller gets no byte that was not sent.
#include <functional>

#include "lci/rpc.hpp"
#include "lib/layers/rpc/parts.hpp"
#include "tests/layers/mercury/tap.hpp"
#include "tests/layers/rpc/throws.hpp"

namespace {

using namespace test;
namespace rpc = lci::rpc;

constexpr size_t largest_response = 4096;
constexpr size_t whole = rpc::detail::bytes_of_part(largest_response);
constexpr size_t n_characters = 2 * whole + 1000;

/// A result as its codec encodes it: the length and the characters.
const std::string result = [] {
  const uint64_t length = n_characters;
  std::string s(reinterpret_cast<const char*>(&length), sizeof length);
  for (size_t i = 0; i < n_characters; ++i) s += static_cast<char>('a' + i % 26);
  return s;
}();

/// A response with this payload.
std::string response(mercury::response_header h, const std::string& payload) {
  h.payload = static_cast<uint16_t>(payload.size());
  std::string message(sizeof h, 0);
  message += payload;
  mercury::seal(h, message.data());
  return message;
}

/// The call that is answered.
struct answered {
  tap& to;
  captured call;
  mercury::response_header head;

  void part(size_t offset, size_t size, uint64_t total = result.size()) const {
    const mercury::part_header p{total, offset};
    std::string payload(reinterpret_cast<const char*>(&p), sizeof p);
    payload += offset < result.size() ? result.substr(offset, size) : std::string(size, 'x');
    mercury::response_header h = head;
    h.flags = mercury::is_part;
    to.send(call.source, call.tag | na::answer_bit | na::more_bit, response(h, payload));
  }
  /// The part with this number, as a server sends it.
  void part_number(size_t n) const { part(n * whole, whole); }
  void at_once(const std::string& payload) const {
    to.send(call.source, call.tag | na::answer_bit, response(head, payload));
  }
};

using lie = std::function<void(const answered&)>;

void sends_all(const answered& a) {
  for (const size_t n : {0, 1, 2}) a.part_number(n);
}

const std::vector<lie> truths = {
    sends_all,
    [](const answered& a) {
      for (const size_t n : {2, 0, 1}) a.part_number(n);
    },
    [](const answered& a) {
      for (const size_t n : {2, 1, 0}) a.part_number(n);
    },
};

const std::vector<lie> lies = {
    // As many bytes as the result has, but not all of them.
    [](const answered& a) {
      for (const size_t n : {0, 0, 2}) a.part_number(n);
    },
    [](const answered& a) {
      for (const size_t n : {0, 2, 2}) a.part_number(n);
    },
    [](const answered& a) {
      a.part_number(0);
      a.part(whole - 8, whole);
      a.part(2 * whole - 8, result.size() - 2 * whole + 8);
    },
    [](const answered& a) {
      a.part(0, 8);
      a.at_once(result.substr(0, 2000));
    },
    [](const answered& a) {
      a.part_number(0);
      a.at_once(result.substr(0, 2000));
    },
    // Parts that are too short, empty, or outside of the result.
    [](const answered& a) { a.part(0, 100); },
    [](const answered& a) { a.part(0, 0); },
    [](const answered& a) { a.part(0, 0, 0); },
    [](const answered& a) { a.part(3 * whole, whole); },
    [](const answered& a) { a.part(result.size(), 0); },
    [](const answered& a) { a.part(~size_t{0} / whole * whole, whole, ~uint64_t{0}); },
    // Of results of different sizes.
    [](const answered& a) {
      a.part_number(0);
      a.part(whole, whole, result.size() + 1);
    },
};

/// Answers calls for ever.
int serve_lies() {
  const network net("tcp", true);
  tap calls(net);
  say(net.own_name());
  for (size_t i = 0;; ++i) {
    answered a{calls, calls.next(false), {}};
    mercury::request_header h;
    std::memcpy(&h, a.call.bytes.data(), sizeof h);
    a.head.cookie = h.cookie;
    const size_t n = i / 2 % (truths.size() + lies.size());
    if (i % 2 == 0)
      sends_all(a);
    else
      n < truths.size() ? truths[n](a) : lies[n - truths.size()](a);
  }
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return serve_lies();
  process server({"serve"});
  const rpc::engine e("tcp://127.0.0.1", rpc::options().client());
  const auto text = e.declare<std::vector<char>()>("text").on(e.connect(server.line()));
  const std::vector<char> expected(result.begin() + sizeof(uint64_t), result.end());
  const auto is_whole = [&] { return text() == expected; };
  for (size_t i = 0; i < truths.size() + lies.size(); ++i) {
    REQUIRE(is_whole());
    if (i < truths.size())
      REQUIRE(is_whole());
    else if (!throws<rpc::error>(text))
      std::fprintf(stderr, "lie %zu is believed\n", i - truths.size()), std::exit(3);
  }
  return 0;
}
