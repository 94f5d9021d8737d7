// Streams over datagrams between two ports, by endpoints in memory that can lose, repeat, swap and refuse datagrams.
#include <sys/socket.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "lci/errors.hpp"
#include "network/tcp/outside/link.hpp"
#include "network/tcp/outside/stream_port.hpp"

namespace {

namespace net = lci::network;
namespace out = lci::network::outside;
using bytes = std::vector<std::byte>;

/// What is under way between the endpoints of a test.
struct post_office {
  std::map<std::string, std::deque<bytes>> boxes;  // by name
  size_t refused = 0;                              // sends that are answered by EAGAIN
};

class letters final : public net::datagram_endpoint {
 public:
  letters(post_office& at, std::string name) : at_(at), name_(std::move(name)) {}

  std::string name() const override {
    if (std::exchange(lacks_memory_for_own_name, false)) throw std::bad_alloc();
    return name_;
  }
  size_t longest() const override { return 100; }
  address add_peer(const std::string& name) override {
    if (name == "invalid") throw lci::resource_error("no such name");
    if (std::exchange(lacks_memory, false)) throw std::bad_alloc();
    peers_.push_back(name);
    ++n_peers;
    return peers_.size() - 1;
  }
  void remove_peer(address) override { --n_peers; }
  net::datagram& buffer() override {
    ++n_lent;
    auto made = std::make_unique<owned>();
    made->data = made->space.data();
    all_.push_back(std::move(made));
    return *all_.back();
  }
  int send(address to, net::datagram& d, void* user) override {
    if (at_.refused > 0) return --at_.refused, EAGAIN;
    if (broken != 0) return broken;
    at_.boxes[peers_[to]].emplace_back(d.data, d.data + d.size);
    sent_.push_back(user);
    --n_lent;
    return 0;
  }
  void give_back(net::datagram&) override { --n_lent; }
  int poll(net::datagram_sink& sink) override {
    int n = 0;
    for (; !sent_.empty(); ++n) {
      void* const user = sent_.front();
      sent_.pop_front();
      sink.on_sent(user, 0);
    }
    for (auto& box = at_.boxes[name_]; !box.empty(); ++n) {
      net::datagram& d = buffer();
      d.size = box.front().size();
      if (d.size > 0) std::memcpy(d.data, box.front().data(), d.size);
      box.pop_front();
      sink.on_datagram(d);
    }
    return n;
  }
  int wait_fd() const override { return -1; }
  bool may_sleep() override { return true; }

  int n_lent = 0;  // buffers that the port has
  int n_peers = 0;
  int broken = 0;             // the error of sends
  bool lacks_memory = false;  // for the next name
  mutable bool lacks_memory_for_own_name = false;

 private:
  struct owned : net::datagram {
    std::vector<std::byte> space = std::vector<std::byte>(100);
  };
  post_office& at_;
  const std::string name_;
  std::vector<std::string> peers_;
  std::vector<std::unique_ptr<owned>> all_;
  std::deque<void*> sent_;
};

/// Two ports with a stream between them.
struct pair_of_ports {
  post_office office;
  letters* ends[2];
  std::unique_ptr<out::stream_port> ports[2];
  out::message_stream* streams[2] = {};

  explicit pair_of_ports(const std::string& second = "second") {
    const std::string names[] = {"first", second};
    for (int i = 0; i < 2; ++i) {
      auto end = std::make_unique<letters>(office, names[i]);
      ends[i] = end.get();
      ports[i] = std::make_unique<out::stream_port>(std::move(end));
    }
    connect();
  }
  void connect() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    for (int i = 0; i < 2; ++i) {
      net::socket_handle socket(fds[i]);
      streams[i] = &ports[i]->open(i, i == 0, socket);
    }
  }
  void poll(int rounds = 3) {
    for (int k = 0; k < rounds; ++k)
      for (auto& p : ports) p->poll(nullptr);
  }
  std::vector<int> ready(int i) {
    std::array<int, out::stream_port::most_ready> peers{};
    const int n = ports[i]->poll(&peers);
    return {peers.begin(), peers.begin() + n};
  }
  ssize_t write(int i, const std::string& text) {
    const iovec one{const_cast<char*>(text.data()), text.size()};
    return ports[i]->write(*streams[i], &one, 1);
  }
  /// What can be read now, in pieces of `size` bytes; "!" and the error if that is not EAGAIN.
  std::string read(int i, size_t size = 1000) {
    std::string all;
    for (;;) {
      std::string some(size, '\0');
      const iovec one{some.data(), some.size()};
      const ssize_t n = ports[i]->read(*streams[i], &one, 1);
      if (n == 0) return all + "$";
      if (n < 0) return errno == EAGAIN ? all : all + "!" + std::to_string(errno);
      all.append(some, 0, static_cast<size_t>(n));
    }
  }
};

std::string text_of(size_t size) {
  std::string text(size, '\0');
  std::iota(text.begin(), text.end(), 'a');
  return text;
}

}  // namespace

TEST_CASE("a stream over datagrams delivers bytes of any pieces in order, in both directions", "[peers]") {
  pair_of_ports p;
  CHECK(p.write(0, "too early") == -1);
  p.poll();
  std::string sent, got;
  for (size_t size = 1; size < 500; size += 17) {
    std::string text = text_of(size);
    while (!text.empty()) {
      const ssize_t n = p.write(0, text);
      if (n > 0) sent += text.substr(0, static_cast<size_t>(n)), text.erase(0, static_cast<size_t>(n));
      p.poll();
      got += p.read(1, size % 13 + 1);
      p.poll();
    }
  }
  CHECK(got == sent);
  REQUIRE(p.write(1, "back") == 4);
  p.poll();
  CHECK(p.read(0) == "back");
}

TEST_CASE("a stream takes no more than its window while the peer does not read", "[peers]") {
  pair_of_ports p;
  p.poll();
  size_t written = 0;
  for (int i = 0; i < 1000; ++i) {
    written += static_cast<size_t>(std::max<ssize_t>(p.write(0, text_of(50)), 0));
    p.poll(1);
  }
  CHECK(written == 64 * 50);
  CHECK(p.ends[1]->n_lent == 64);
  CHECK(p.read(1).size() == written);
  p.poll();
  CHECK(p.ends[1]->n_lent == 0);
  CHECK(p.write(0, "more") == 4);
}

TEST_CASE("poll() names streams until they were read", "[peers]") {
  pair_of_ports p;
  p.poll();
  CHECK(p.ready(1).empty());
  p.write(0, "x");
  CHECK(p.ready(1) == std::vector<int>{1});
  CHECK(p.ready(1) == std::vector<int>{1});
  CHECK(p.read(1) == "x");
  CHECK(p.ready(1).empty());
  p.ports[0]->end(*p.streams[0]);
  CHECK(p.ready(1) == std::vector<int>{1});
  CHECK(p.read(1) == "$");
  CHECK(p.ready(1).empty());
}

TEST_CASE("the end of a stream follows all bytes, and the sender learns that they were read", "[peers]") {
  pair_of_ports p;
  p.poll();
  const bool is_refused = GENERATE(false, true);
  p.write(0, "last words");
  if (is_refused) p.office.refused = 5;
  p.ports[0]->end(*p.streams[0]);
  p.poll(10);
  CHECK_FALSE(p.ports[0]->is_read(*p.streams[0]));
  CHECK(p.read(1) == "last words$");
  p.poll();
  CHECK(p.ports[0]->is_read(*p.streams[0]));
}

TEST_CASE("an end that was read is acknowledged although the reader gives the stream up", "[peers]") {
  pair_of_ports p;
  p.poll();
  p.ports[0]->end(*p.streams[0]);
  p.office.refused = 1;  // the acknowledgement
  p.ports[1]->poll(nullptr);
  CHECK(p.read(1) == "$");
  p.ports[1]->abort(*p.streams[1]);
  CHECK(p.write(1, "x") == -1);
  CHECK(errno == EPIPE);
  p.ports[1]->close(*p.streams[1]);
  p.poll();
  CHECK(p.ports[0]->is_read(*p.streams[0]));
}

TEST_CASE("datagrams of strangers and of former streams are dropped", "[peers]") {
  pair_of_ports p;
  p.poll();
  p.write(0, "one");
  bytes of_before = p.office.boxes["second"].front();
  p.poll();
  CHECK(p.read(1) == "one");
  SECTION("a wrong token, number or length") {
    for (const size_t at : {size_t{0}, size_t{15}, size_t{16}}) {
      bytes forged = of_before;
      forged[at] ^= std::byte{1};
      p.office.boxes["second"].push_back(forged);
    }
    of_before.resize(31);
    p.office.boxes["second"].push_back(of_before);
    p.office.boxes["second"].emplace_back();
  }
  SECTION("of a connection before this one") {
    p.ports[1]->close(*p.streams[1]);
    p.ports[0]->close(*p.streams[0]);
    p.poll();
    CHECK(p.ends[0]->n_peers == 0);
    p.connect();
    p.poll();
    p.office.boxes["second"].push_back(of_before);
  }
  p.poll();
  CHECK(p.read(1).empty());
  CHECK(p.write(0, "two") == 3);
  p.poll();
  CHECK(p.read(1) == "two");
  CHECK(p.ends[1]->n_lent == 0);
}

TEST_CASE("a stream that loses, repeats or swaps datagrams, or exceeds its window, fails", "[peers]") {
  pair_of_ports p;
  p.poll();
  for (const char* text : {"one", "two", "three"}) p.write(0, text);
  auto& box = p.office.boxes["second"];
  SECTION("lost") { box.pop_front(); }
  SECTION("repeated") { box.push_back(box.back()); }
  SECTION("swapped") { std::swap(box[1], box[2]); }
  SECTION("too many") {
    // Sixty-five, as by a sender that does not wait for acknowledgements.
    while (box.size() < 65) {
      bytes next = box.back();
      uint32_t sequence;
      std::memcpy(&sequence, next.data() + 20, sizeof sequence);
      ++sequence;
      std::memcpy(next.data() + 20, &sequence, sizeof sequence);
      box.push_back(next);
    }
  }
  SECTION("an acknowledgement of what was never sent") {
    const uint32_t many = 7;
    std::memcpy(box.front().data() + 24, &many, sizeof many);
  }
  p.poll();
  const std::string error = "!" + std::to_string(EPROTO);
  const std::string got = p.read(1);
  CHECK(got.substr(got.find('!')) == error);
  CHECK(p.ready(1).empty());
  CHECK(p.ends[1]->n_lent == 0);
}

TEST_CASE("a stream whose beginning makes no sense fails", "[peers]") {
  pair_of_ports p("invalid");
  p.poll();
  CHECK(p.read(0) == "!" + std::to_string(EADDRNOTAVAIL));
  int fds[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  const net::socket_handle other(fds[1]);
  net::socket_handle socket(fds[0]);
  p.streams[0] = &p.ports[0]->open(7, true, socket);
  const std::string garbage(288, 'x');
  const bool is_short = GENERATE(false, true);
  REQUIRE(send(other.get(), garbage.data(), is_short ? 100 : 288, 0) > 0);
  if (is_short) shutdown(other.get(), SHUT_WR);
  p.poll();
  CHECK(p.read(0) == "!" + std::to_string(is_short ? ECONNRESET : EPROTO));
}

TEST_CASE("a stream begins although there is no memory for its peer's name at first", "[peers]") {
  pair_of_ports p;
  p.ends[0]->lacks_memory = true;
  p.poll();
  CHECK(p.write(0, "text") == 4);
  p.poll();
  CHECK(p.read(1) == "text");
}

TEST_CASE("who has no memory to open a stream keeps its socket", "[peers]") {
  pair_of_ports p;
  int fds[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  net::socket_handle socket(fds[0]), other(fds[1]);
  p.ends[0]->lacks_memory_for_own_name = true;
  CHECK_THROWS_AS(p.ports[0]->open(7, true, socket), std::bad_alloc);
  CHECK(socket.get() == fds[0]);
  p.streams[0] = &p.ports[0]->open(7, true, socket);
  CHECK(socket.get() < 0);
  p.streams[1] = &p.ports[1]->open(8, false, other);
  p.poll();
  CHECK(p.write(0, "text") == 4);
  p.poll();
  CHECK(p.read(1) == "text");
}

TEST_CASE("closed streams leave nothing in the port", "[peers]") {
  pair_of_ports p;
  for (int i = 0; i < 50; ++i) {
    p.poll();
    p.write(0, text_of(200));
    p.write(1, text_of(300));
    if (i % 2 == 0) p.poll(1);
    if (i % 3 == 0) p.ends[0]->broken = EHOSTUNREACH;
    p.write(0, "x");
    for (int k = 0; k < 2; ++k) p.ports[k]->close(*p.streams[k]);
    p.ends[0]->broken = 0;
    p.poll();
    CHECK(p.ends[0]->n_peers == 0);
    CHECK(p.ends[1]->n_peers == 0);
    CHECK_FALSE(p.ports[0]->is_busy());
    CHECK(p.ends[0]->n_lent == 0);
    CHECK(p.ends[1]->n_lent == 0);
    p.connect();
  }
}
