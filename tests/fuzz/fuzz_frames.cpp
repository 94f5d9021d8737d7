// What the parsers of frames do with damaged input: those of lcirun and its proxies, and those of the tcp
// bootstrap. Deterministic: a failure names its seed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "lib/bootstrap/tcp_wire.hpp"
#include "lib/tools/lcirun/frame.hpp"
#include "lib/tools/lcirun/handshake.hpp"
#include "lib/tools/lcirun/setup.hpp"
#include "tests/support/testing.hpp"

namespace {

using namespace lci::launcher;
namespace tcp = lci::network::tcp;
using random_t = std::mt19937;

size_t below(random_t& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

/// Bytes changed, removed, doubled or cut off; now and then none.
std::string damaged(std::string bytes, random_t& random) {
  for (size_t i = below(random, 4); i > 0; --i) {
    const size_t at = below(random, bytes.size() + 1);
    switch (below(random, 5)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = "\0\xff\x7f\x80"[below(random, 4)];
        break;
      case 2:
        bytes.erase(at, 1 + below(random, 9));
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(random, bytes.size() + 1), below(random, 30)));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

proxy_setup good_setup(random_t& random) {
  proxy_setup s;
  s.host = static_cast<int>(below(random, 5));
  s.port = 1 + static_cast<int>(below(random, 65535));
  s.addresses = {"10.0.0.1", "fe80::1"};
  s.job_id = "job";
  s.share = {"host", 2, 2};
  s.options.ranks = 4;
  s.options.parts = {{4, "", {"program", "argument with spaces", ""}, {"NAME=value"}}};
  s.options.folder = "/somewhere";
  s.options.gdb.ranks = {1, 3};
  s.environment = {"A=1", "B=", "C=two\nlines"};
  return s;
}

std::string fields_of(std::string frame) { return frame.substr(frame_header); }

/// Gives the bytes in pieces, and takes frames out.
template <class Take>
void in_pieces(const std::string& bytes, random_t& random, Take take) {
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = std::min(1 + below(random, 40), bytes.size() - at);
    take(bytes.data() + at, size);
    at += size;
  }
}

}  // namespace

TEST_CASE("a proxy's setup is read as it was written, or refused with a reason", "[fuzz]") {
  size_t accepted = 0, refused = 0;
  for (unsigned seed = 1; seed <= 20000u * lci_test::long_runs(); ++seed) {
    CAPTURE(seed);
    random_t random(seed);
    const std::string good = fields_of(write_setup(good_setup(random)).take());
    const std::string fields = damaged(good, random);
    std::string why;
    const auto setup = read_setup(fields, why);
    if (!setup) {
      ++refused;
      REQUIRE(fields != good);
      REQUIRE(!why.empty());
      continue;
    }
    ++accepted;
    // What is taken is whole: written again it is the same.
    REQUIRE(fields_of(write_setup(*setup).take()) == fields);
    REQUIRE(setup->share.first + setup->share.count <= setup->options.ranks);
  }
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("frames of proxies come out as they went in, however their bytes arrive", "[fuzz]") {
  size_t spoilt = 0;
  for (unsigned seed = 1; seed <= 5000u * lci_test::long_runs(); ++seed) {
    CAPTURE(seed);
    random_t random(seed);
    std::vector<std::string> sent;
    std::string bytes;
    for (size_t i = 1 + below(random, 5); i > 0; --i) {
      sent.push_back(frame_writer(frame_t::output)
                         .number(static_cast<int64_t>(i))
                         .text(std::string(below(random, 100), 'x'))
                         .take());
      bytes += sent.back();
    }
    const std::string arriving = seed % 2 == 0 ? bytes : damaged(bytes, random);
    frame_buffer in(max_frame);
    std::vector<std::string> got;
    in_pieces(arriving, random, [&](const char* data, size_t size) {
      in.append(data, size);
      frame_t type;
      for (std::string_view fields; in.next(type, fields);) {
        REQUIRE(fields.size() <= max_frame);
        REQUIRE(type >= frame_t::setup);
        REQUIRE(type <= frame_t::last);
        frame_reader reader(fields);
        const int64_t number = reader.number();
        const std::string text(reader.text());
        if (reader.complete()) got.push_back(frame_writer(type).number(number).text(text).take());
      }
    });
    if (arriving == bytes) {
      REQUIRE(!in.bad());
      REQUIRE(got == sent);
    }
    spoilt += in.bad();
  }
  CHECK(spoilt > 100);
}

TEST_CASE("a handshake accepts only a peer that has the key", "[fuzz]") {
  for (unsigned seed = 1; seed <= 5000u * lci_test::long_runs(); ++seed) {
    CAPTURE(seed);
    random_t random(seed);
    const secret_key key = new_key();
    const handshake proxy(key, 3);
    REQUIRE(claimed_host(proxy.hello()) == 3);
    const std::string challenge = make_challenge(key, proxy.hello());
    const std::string answer = proxy.answer(challenge);
    REQUIRE(is_answer(key, proxy.hello(), challenge, answer));
    const std::string bad_challenge = damaged(challenge, random), bad_answer = damaged(answer, random);
    REQUIRE(proxy.answer(bad_challenge).empty() == (bad_challenge != challenge));
    REQUIRE(is_answer(key, proxy.hello(), challenge, bad_answer) == (bad_answer == answer));
    REQUIRE(!is_answer(new_key(), proxy.hello(), challenge, answer));
    const int host = claimed_host(damaged(proxy.hello(), random));
    REQUIRE(host >= -1);
  }
}

TEST_CASE("frames of the tcp bootstrap are taken whole, or called garbage", "[fuzz]") {
  size_t garbage = 0;
  for (unsigned seed = 1; seed <= 5000u * lci_test::long_runs(); ++seed) {
    CAPTURE(seed);
    random_t random(seed);
    tcp::writer body;
    body.number(seed).text("a key").text(std::string(below(random, 200), 'v'));
    const std::string good = tcp::encode(tcp::kind::put, body.body()) + tcp::encode(tcp::kind::close, "");
    const std::string bytes = seed % 2 == 0 ? good : damaged(good, random);
    tcp::frame_buffer in;
    bool bad = false;
    size_t whole = 0;
    in_pieces(bytes, random, [&](const char* data, size_t size) {
      if (bad) return;
      in.append(data, size);
      tcp::frame f{};
      for (auto state = in.next(f, tcp::max_join_body); state != tcp::frame_buffer::state::partial;
           state = in.next(f, tcp::max_join_body)) {
        bad = state == tcp::frame_buffer::state::garbage;
        if (bad) return;
        ++whole;
        REQUIRE(f.body.size() <= tcp::max_join_body);
        tcp::reader r(f.body);
        (void)r.number();
        REQUIRE(r.text(32).size() <= 32);
        REQUIRE(r.text(tcp::max_join_body).size() <= f.body.size());
        if (!r.good()) REQUIRE(r.number() == 0);
      }
    });
    if (bytes == good) REQUIRE((!bad && whole == 2));
    garbage += bad;
  }
  CHECK(garbage > 100);
}
