// Any program can connect to the port on which the end of a rank's process is noticed.
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "network/common/liveness.hpp"
#include "tests/unit/tcp_ranks.hpp"

using namespace lci::network;

namespace {

/// What the ranks of a job offer; each has one offer.
struct shared_offers final : address_exchange {
  shared_offers(std::map<int, std::string>& of_all, int own) : all(of_all), me(own) {}
  int rank() const override { return me; }
  int size() const override { return 2; }
  offer_id offer(const std::string& blob) override {
    all[me] = blob;
    return {0, 0};
  }
  void publish() override {}
  std::string read(offer_id, int r) override { return all[r]; }
  std::vector<std::string> read_all(offer_id) override { return {all[0], all[1]}; }
  std::map<int, std::string>& all;
  const int me;
};

/// Two ranks. The second one watches the first.
struct watched_rank {
  watched_rank()
      : peer(std::make_unique<liveness>(of_peer, sockets::listening_address("127.0.0.1"), 5)),
        own(of_own, sockets::listening_address("127.0.0.1"), 5) {
    own.settle(acquaintance::all_at_once);
    peer->settle(acquaintance::all_at_once);
  }
  void poll() {
    if (peer != nullptr) peer->poll();
    own.poll();
    own.handle_new(seen, [&](const liveness::departure& d) { departures.push_back(d); });
  }
  template <class F>
  bool poll_until(F done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!done() && std::chrono::steady_clock::now() < end) poll();
    return done();
  }
  void poll_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      poll();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  bool is_alive() { return own.view_of(0) == liveness::view::alive; }
  socket_handle stranger() const {
    socket_handle s(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(s.get(), reinterpret_cast<const sockaddr*>(offers.at(0).data()), sizeof(sockaddr_in)) == 0);
    return s;
  }
  std::vector<socket_handle> strangers(int n) const {
    std::vector<socket_handle> all;
    for (int i = 0; i < n; ++i) {
      all.push_back(stranger());
      peer->poll();
    }
    return all;
  }
  std::map<int, std::string> offers;
  shared_offers of_peer{offers, 0}, of_own{offers, 1};
  std::unique_ptr<liveness> peer;
  liveness own;
  std::atomic<size_t> seen{0};
  std::vector<liveness::departure> departures;
};

bool closed_by_peer(const socket_handle& s) {
  char c;
  const ssize_t n = recv(s.get(), &c, 1, MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno == ECONNRESET);
}

constexpr int n_strangers = 100;  // more than the peer keeps

}  // namespace

TEST_CASE("idle strangers at the port of a process don't end the connections by which it is watched", "[unit]") {
  watched_rank r;
  const bool first = GENERATE(false, true);
  if (first) {
    r.own.meet(0);
    REQUIRE(r.poll_until([&] { return r.is_alive(); }));
  }
  const std::vector<socket_handle> idle = r.strangers(n_strangers);
  r.own.meet(0);
  REQUIRE(r.poll_until([&] { return r.is_alive(); }));
  r.poll_for(std::chrono::milliseconds(700));
  CHECK(r.is_alive());
  CHECK(r.departures.empty());
  int n_closed = 0;
  for (const socket_handle& s : idle) n_closed += closed_by_peer(s);
  CHECK(n_closed >= n_strangers - 2 - 64 - 1);  // so their number is bounded
  CHECK(n_closed < n_strangers);
  r.peer.reset();
  REQUIRE(r.poll_until([&] { return !r.departures.empty(); }));
  CHECK_FALSE(r.departures[0].failed);
}

TEST_CASE("a rank whose connection made room for a stranger's watches by another one", "[unit]") {
  watched_rank r;
  r.own.meet(0);  // connects, and sends its token with the next poll
  r.peer->poll();
  const std::vector<socket_handle> idle = r.strangers(n_strangers);
  r.poll_for(std::chrono::milliseconds(700));
  REQUIRE(r.poll_until([&] { return r.is_alive(); }));
  CHECK(r.departures.empty());
  r.peer->end_device(3);
  REQUIRE(r.poll_until([&] { return !r.departures.empty(); }));
  CHECK(r.departures[0].device == 3);
}

TEST_CASE("a process that has ended before it knew its watchers has failed, or has ended", "[unit]") {
  watched_rank r;
  r.own.meet(0);
  r.peer.reset();
  REQUIRE(r.poll_until([&] { return !r.departures.empty(); }));
  CHECK_FALSE(r.departures[0].failed);

  tcp_test::two_ranks exchange;
  sockaddr_storage here = sockets::listening_address("127.0.0.1");
  socket_handle listener = listen_at(here, 4);
  exchange.watched_at = std::string(reinterpret_cast<const char*>(&here), length_of(here)) + std::string(16, 't');
  liveness watching(exchange, sockets::listening_address("127.0.0.1"), 5);
  watching.settle(acquaintance::all_at_once);
  watching.meet(1);
  watching.poll();
  listener = {};  // the process ends
  std::vector<liveness::departure> all;
  std::atomic<size_t> seen{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (all.empty() && std::chrono::steady_clock::now() < end) {
    watching.poll();
    watching.handle_new(seen, [&](const liveness::departure& d) { all.push_back(d); });
  }
  REQUIRE(all.size() == 1);
  CHECK(all[0].failed);
}

TEST_CASE("a stranger that sends something else than the token is disconnected", "[unit]") {
  watched_rank r;
  const socket_handle s = r.stranger();
  const std::string garbage(64, 'x');
  REQUIRE(send(s.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL) == 64);
  CHECK(r.poll_until([&] { return closed_by_peer(s); }));
}
