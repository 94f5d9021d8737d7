// What PMI-1's parsers do with damaged input: the client's (lib/bootstrap) and the server's
// (lib/tools/lcirun). Deterministic: a failure names its seed.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lci/errors.hpp"
#include "lib/bootstrap/pmi1_channel.hpp"
#include "lib/bootstrap/pmi1_value.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/tools/lcirun/label.hpp"
#include "lib/tools/lcirun/pmi_server.hpp"
#include "tests/support/testing.hpp"

namespace {

namespace pmi1 = lci::network::pmi1;
using lci::launcher::pmi_server;
using lci::launcher::verdict;

using random_t = std::mt19937;

size_t below(random_t& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

const std::vector<std::string> good_lines = {
    "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
    "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024",
    "cmd=my_kvsname rc=0 kvsname=kvs_4711_0_host",
    "cmd=get_result rc=-1 msg=key_x_not_found value=unknown",
    "cmd=set size=4",
    "cmd=init pmi_version=1 pmi_subversion=1",
    "cmd=get_maxes",
    "cmd=get_my_kvsname",
    "cmd=put kvsname=job key=a value=1.4.AAAAAA",
    "cmd=get kvsname=job key=a",
    "cmd=getbyidx kvsname=job idx=0",
    "cmd=barrier_in",
    "cmd=finalize",
    "cmd=abort exitcode=3",
    "mcmd=spawn",
};

/// A few random damages: bytes changed, removed, doubled, swapped in from elsewhere, blown up.
std::string damaged(std::string line, random_t& random) {
  const size_t times = below(random, 4);
  for (size_t i = 0; i < times; ++i) {
    const size_t at = below(random, line.size() + 1);
    switch (below(random, 8)) {
      case 0:
        if (at < line.size()) line[at] = char(random());
        break;
      case 1:
        line.insert(at, 1, " =\n\0\t-9"[below(random, 7)]);
        break;
      case 2:
        line.erase(at, below(random, 5));
        break;
      case 3:
        line.insert(at, line.substr(below(random, line.size() + 1), below(random, 30)));
        break;
      case 4: {
        const std::string& other = good_lines[below(random, good_lines.size())];
        line.insert(at, other.substr(below(random, other.size()), below(random, 30)));
        break;
      }
      case 5:
        line.insert(at, "99999999999999999999");
        break;
      case 6:
        line.insert(at, std::string(below(random, 2 * pmi1::max_line), 'x'));
        break;
      default:
        line.resize(at);
        break;
    }
  }
  return line;
}

std::string random_bytes(random_t& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = char(random());
  return bytes;
}

bool is_plain(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; });
}

}  // namespace

TEST_CASE("a damaged PMI-1 line is either taken apart fully or refused with a reason", "[fuzz]") {
  size_t accepted = 0, refused = 0;
  for (unsigned seed = 1; seed <= 40000u * lci_test::long_runs(); ++seed) {
    random_t random(seed);
    const std::string line = damaged(good_lines[below(random, good_lines.size())], random);
    std::string why;
    const auto message = pmi1::message::parse(line, why);
    bool good = true;
    if (message) {
      ++accepted;
      // Every word of the line is a field, found by its name with what follows the first '='.
      size_t at = 0, fields = 0;
      while ((at = line.find_first_not_of(' ', at)) != std::string::npos) {
        const size_t end = std::min(line.find(' ', at), line.size());
        const std::string word = line.substr(at, end - at);
        const size_t equals = word.find('=');
        const std::string* value = equals == std::string::npos ? nullptr : message->find(word.substr(0, equals));
        good = good && value != nullptr && *value == word.substr(equals + 1);
        at = end;
        ++fields;
      }
      good = good && fields >= 1 && fields <= pmi1::max_fields && line.size() <= pmi1::max_line &&
             line.find('\n') == std::string::npos;
    } else {
      ++refused;
      good = !why.empty();
    }
    const std::string shown = pmi1::printable(line);
    good = good && is_plain(shown) && shown.size() < 120;
    if (!good) {
      CAPTURE(seed, shown);
      FAIL("a line was taken apart wrongly");
    }
  }
  // The damaged texts must include both valid and invalid ones.
  CHECK(accepted > 5000);
  CHECK(refused > 5000);
}

TEST_CASE("numbers are read whole or not at all", "[fuzz]") {
  for (const char* good : {"0", "7", "-1", "2147483647", "-2147483648"}) {
    CAPTURE(good);
    const auto value = pmi1::parse_int(good);
    REQUIRE(value);
    CHECK(std::to_string(*value) == good);
  }
  for (const char* bad :
       {"", " ", "1 ", " 1", "+1", "1x", "0x10", "--1", "-", "2147483648", "1.0", "99999999999999999999", "one"}) {
    CAPTURE(bad);
    CHECK_FALSE(pmi1::parse_int(bad));
  }
  CHECK_FALSE(pmi1::parse_int(std::string_view("1\0", 2)));
}

TEST_CASE("lines come out the same however the bytes arrive", "[fuzz]") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    random_t random(seed);
    std::vector<std::string> lines;
    std::string stream;
    for (size_t i = below(random, 20); i > 0; --i) {
      std::string line = damaged(good_lines[below(random, good_lines.size())], random);
      line.erase(std::remove(line.begin(), line.end(), '\n'), line.end());
      lines.push_back(line);
      stream += line + "\n";
    }
    const std::string rest = "cmd=get_m";
    stream += rest;
    pmi1::line_buffer buffer;
    std::vector<std::string> found;
    std::string line;
    for (size_t at = 0; at < stream.size();) {
      const size_t size = std::min(1 + below(random, 300), stream.size() - at);
      buffer.append(stream.data() + at, size);
      at += size;
      while (buffer.next(line)) found.push_back(line);
    }
    CAPTURE(seed);
    REQUIRE(found == lines);
    REQUIRE(buffer.rest() == rest);
    REQUIRE_FALSE(buffer.overlong());
    buffer.append(std::string(pmi1::max_line, 'x').data(), pmi1::max_line);
    REQUIRE(buffer.overlong());
  }
}

TEST_CASE("values survive the way through pieces, and damaged pieces do no harm", "[fuzz]") {
  size_t refused = 0;
  for (unsigned seed = 1; seed <= 3000u * lci_test::long_runs(); ++seed) {
    random_t random(seed);
    const size_t largest = seed % 100 == 0 ? pmi1::max_value_bytes : 5000;
    const std::string bytes = random_bytes(random, below(random, largest + 1));
    const size_t length = pmi1::min_piece_length + below(random, 1000);
    auto pieces = pmi1::to_pieces(bytes, length);
    bool good = pmi1::piece_count(pieces[0]) == pieces.size() && pieces.size() <= pmi1::max_pieces;
    for (const auto& piece : pieces) {
      good = good && piece.size() <= length && is_plain(piece) && piece.find_first_of(" =") == std::string::npos;
    }
    good = good && pmi1::from_pieces(pieces) == bytes;

    std::string& victim = pieces[below(random, pieces.size())];
    victim = damaged(victim, random);
    const auto count = pmi1::piece_count(pieces[0]);
    good = good && (!count || (*count >= 1 && *count <= pmi1::max_pieces));
    const auto back = pmi1::from_pieces(pieces);
    if (!back) ++refused;
    good = good && (!back || back->size() <= pmi1::max_value_bytes);
    if (!good) {
      CAPTURE(seed, bytes.size(), length);
      FAIL("a value went wrong");
    }
  }
  CHECK(refused > 500);
  CHECK_FALSE(pmi1::from_pieces({}));
  const std::string largest(pmi1::max_value_bytes, '\xff');
  const auto pieces = pmi1::to_pieces(largest, pmi1::min_piece_length);
  CHECK(pieces.size() <= pmi1::max_pieces);
  CHECK(pmi1::from_pieces(pieces) == largest);
}

TEST_CASE("the client's channel turns any stream into lines and then an error", "[fuzz]") {
  for (unsigned seed = 1; seed <= 1000u * lci_test::long_runs(); ++seed) {
    random_t random(seed);
    std::string stream;
    for (size_t i = below(random, 6); i > 0; --i) {
      stream += damaged(good_lines[below(random, good_lines.size())], random) + "\n";
    }
    stream += random_bytes(random, below(random, 200));
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    REQUIRE(write(ends[1], stream.data(), stream.size()) == ssize_t(stream.size()));
    close(ends[1]);
    pmi1::channel channel(ends[0], 10);
    std::string joined;
    bool ended = false;
    try {
      for (;;) joined += channel.receive() + "\n";
    } catch (const lci::bootstrap_error& error) {
      ended = is_plain(error.what());
    }
    CAPTURE(seed);
    REQUIRE(ended);
    REQUIRE(stream.substr(0, joined.size()) == joined);
  }
}

namespace {

/// One rank's requests as a well-behaved client would send them, with the answers it expects.
class model_job {
 public:
  model_job(unsigned seed, double damage)
      : random_(seed),
        damage_(damage),
        server_(size, "job", [this](int rank, const std::string& line) { replies_[size_t(rank)].push_back(line); }) {}

  /// Returns false if the server did what it must not.
  bool run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const int rank = int(below(random_, size));
      if (waits_[size_t(rank)]) continue;
      if (!step(rank)) return false;
      if (over_) return true;
    }
    return true;
  }

  size_t answered = 0, malformed = 0;

 private:
  static constexpr int size = 3;

  std::string request() {
    const std::string key = "k" + std::to_string(below(random_, 5));
    switch (below(random_, 7)) {
      case 0:
      case 1:
        return "cmd=put kvsname=job key=" + key + " value=" + std::to_string(random_());
      case 2:
      case 3:
        return "cmd=get kvsname=job key=" + key;
      case 4:
        return "cmd=barrier_in";
      case 5:
        return "cmd=getbyidx kvsname=job idx=" + std::to_string(below(random_, 8));
      default:
        return "cmd=get_maxes";
    }
  }

  bool step(int rank) {
    if (!initialized_[size_t(rank)]) {
      initialized_[size_t(rank)] = true;
      return ask(rank, "cmd=init pmi_version=1 pmi_subversion=1");
    }
    std::string line = request();
    if (below(random_, 1000) < damage_ * 1000) {
      line = damaged(below(random_, 2) == 0 ? line : good_lines[below(random_, good_lines.size())], random_);
    }
    return ask(rank, line);
  }

  bool ask(int rank, const std::string& line) {
    for (auto& list : replies_) list.clear();
    const verdict result = server_.on_request(rank, line);
    size_t others = 0;
    for (int i = 0; i < size; ++i) others += i == rank ? 0 : replies_[size_t(i)].size();
    const auto& mine = replies_[size_t(rank)];
    if (result.kind != verdict::go_on) {
      over_ = true;  // lcirun ends the job
      if (result.kind == verdict::malformed) ++malformed;
      return mine.empty() && others == 0 && (result.kind == verdict::malformed) == !result.text.empty() &&
             is_plain(result.text);
    }
    ++answered;
    for (const auto& list : replies_) {
      std::string why;
      for (const auto& reply : list) {
        if (!pmi1::message::parse(reply, why) || reply.size() > pmi1::max_line) return false;
      }
    }
    std::string why;
    const auto sent = pmi1::message::parse(line, why);
    if (!sent) return false;
    if (sent->text("cmd") == "barrier_in") return check_barrier(rank);
    return mine.size() == 1 && others == 0 && check_reply(rank, *sent, mine[0]);
  }

  bool check_barrier(int rank) {
    waits_[size_t(rank)] = true;
    const bool complete = std::count(std::begin(waits_), std::end(waits_), true) == size;
    if (complete) std::fill(std::begin(waits_), std::end(waits_), false);
    for (const auto& list : replies_) {
      if (list.size() != (complete ? 1 : 0)) return false;
    }
    return server_.barrier_begun() == (std::count(std::begin(waits_), std::end(waits_), true) > 0);
  }

  bool check_reply(int rank, const pmi1::message& sent, const std::string& line) {
    std::string why;
    const auto reply = pmi1::message::parse(line, why);
    const std::string& cmd = sent.text("cmd");
    if (cmd == "finalize") initialized_[size_t(rank)] = false;
    if (cmd == "init") initialized_[size_t(rank)] = true;
    if (cmd == "put" && reply->number("rc") == 0) store_[sent.text("key")] = sent.text("value");
    if (cmd != "get" || sent.text("kvsname") != "job") return true;
    const auto it = store_.find(sent.text("key"));
    if (it == store_.end()) {
      return reply->number("rc") == -1 || sent.text("key") == "PMI_process_mapping";
    }
    return reply->number("rc") == 0 && reply->text("value") == it->second;
  }

  random_t random_;
  const double damage_;
  std::vector<std::string> replies_[size];
  bool initialized_[size] = {}, waits_[size] = {};
  bool over_ = false;
  std::map<std::string, std::string> store_;
  pmi_server server_;
};

}  // namespace

TEST_CASE("lcirun's server answers good requests as a plain map and a barrier would", "[fuzz]") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    model_job job(seed, 0);
    CAPTURE(seed);
    REQUIRE(job.run(500));
    REQUIRE(job.malformed == 0);
    REQUIRE(job.answered > 100);
  }
}

TEST_CASE("lcirun's server refuses damaged requests and stays in order", "[fuzz]") {
  size_t malformed = 0, answered = 0;
  for (unsigned seed = 1; seed <= 5000u * lci_test::long_runs(); ++seed) {
    model_job job(seed, 0.3);
    CAPTURE(seed);
    REQUIRE(job.run(200));
    malformed += job.malformed;
    answered += job.answered;
  }
  CHECK(malformed > 1000);
  CHECK(answered > 10000);
}

TEST_CASE("labels make the same lines of the same output however it arrives", "[fuzz]") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    random_t random(seed);
    std::string text;
    for (size_t i = below(random, 50); i > 0; --i) {
      text += std::string(below(random, seed % 20 == 0 ? 100000 : 50), char('a' + i % 26));
      if (below(random, 4) != 0) text += '\n';
    }
    const auto labelled = [&](size_t largest) {
      int ends[2];
      REQUIRE(pipe(ends) == 0);
      lci::launcher::output_stream to(ends[1]);
      lci::launcher::line_labeller lines(7, to);
      for (size_t at = 0; at < text.size();) {
        const size_t size = std::min(1 + below(random, largest), text.size() - at);
        lines.feed(text.data() + at, size);
        at += size;
      }
      lines.finish();
      std::string found;
      char bytes[4096];
      while (!to.empty()) {
        to.write_some();
        found.append(bytes, size_t(read(ends[0], bytes, sizeof bytes)));
      }
      close(ends[0]);
      close(ends[1]);
      return found;
    };
    const std::string whole = labelled(text.size() + 1), pieces = labelled(700);
    CAPTURE(seed);
    REQUIRE(whole == pieces);
    std::string plain;
    for (size_t at = 0; at < whole.size();) {
      REQUIRE(whole.compare(at, 4, "[7] ") == 0);
      const size_t end = whole.find('\n', at);
      REQUIRE(end != std::string::npos);
      plain += whole.substr(at + 4, end - at - 4);
      at = end + 1;
    }
    text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
    REQUIRE(plain == text);
  }
}
