// Peers outside of the job. Each runtime is a job of its own; one thread makes progress on all, over a simulated
// network that delays messages and refuses posts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "lci.hpp"
#include "network/sim/world.hpp"

namespace {

struct settings {
  uint64_t seed = 1;
  int max_peers = 8;
  bool accept = true;
  bool preposted = false;
  bool rma = true;
};

/// A runtime that is a job of one rank. Owns its completion objects: `cq` gets active messages, `ends` the ends of
/// operations. `failed`: the ranks whose failure progress() has reported.
class station {
 public:
  explicit station(const settings& s) {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.bootstrap = "none";
    attr.max_peers = s.max_peers;
    attr.accept_external_peers = s.accept;
    attr.sim_seed = s.seed;
    attr.sim_max_delay = 12;
    attr.sim_retry_percent = 25;
    attr.sim_preposted_recvs = s.preposted;
    attr.sim_rma = s.rma;
    attr.npackets = 256;
    lci::set_g_default_attr(attr);
    rt = lci::alloc_runtime();
    lci::set_g_default_attr(before);
    cq = lci::alloc_cq_x().runtime(rt)();
    rcomp = lci::register_rcomp_x(cq).runtime(rt)();
    ends = lci::alloc_cq_x().runtime(rt)();
  }
  ~station() {
    lci::free_comp_x(&ends).runtime(rt)();
    lci::free_comp_x(&cq).runtime(rt)();
    lci::free_runtime(&rt);
  }
  station(const station&) = delete;
  station& operator=(const station&) = delete;

  std::string address() { return lci::get_address_x().runtime(rt)(); }
  /// Makes progress; failures that progress() throws are stored in `failed`.
  void progress() {
    try {
      lci::progress_x().runtime(rt)();
    } catch (const lci::peer_failure_error& e) {
      failed.push_back(e.failed_rank());
    }
  }
  bool drained() { return lci::test_drained_x().runtime(rt)().is_done(); }

  lci::runtime_t rt;
  lci::comp_t cq, ends;
  lci::rcomp_t rcomp;
  std::vector<int> failed;
};

/// Makes progress on all stations until `until()` returns true.
template <class Condition>
void run(const std::vector<station*>& all, Condition until) {
  for (int i = 0; i < 200'000; ++i) {
    if (until()) return;
    for (station* s : all) s->progress();
  }
  FAIL("the job makes no progress any more");
}

/// The two ids of a connection: by `there`, `from` posts to `to`; by `here`, `to` posts to `from`.
struct pair_of_ids {
  int there, here;
};

/// Connects `from` to `to`.

pair_of_ids connect(station& from, station& to, const std::vector<station*>& all) {
  auto s = lci::connect_x(to.address()).local_comp(from.ends).user_context(&from).runtime(from.rt)();
  REQUIRE(s.is_posted());
  run(all, [&] { return (s = lci::cq_pop_x(from.ends).runtime(from.rt)()).is_done(); });
  REQUIRE(s.error.is_done());
  REQUIRE(s.user_context == &from);
  const int peer = s.rank;
  // `to` gets the id with the first message.
  char hello = 'h';
  lci::status_t sent;
  run(all, [&] {
    return !(sent = lci::post_am_x(peer, &hello, 1, lci::COMP_NULL_RETRY, to.rcomp).runtime(from.rt)()).is_retry();
  });
  lci::status_t got;
  run(all, [&] { return (got = lci::cq_pop_x(to.cq).runtime(to.rt)()).is_done(); });
  REQUIRE(*static_cast<char*>(got.buffer) == 'h');
  std::free(got.buffer);
  return {peer, got.rank};
}

std::vector<char> pattern(size_t size, int seed) {
  std::vector<char> data(size);
  std::iota(data.begin(), data.end(), static_cast<char>(seed));
  return data;
}

/// Tests an active message, a send, a put and a get from `from` to `to`.
void exchange(station& from, station& to, pair_of_ids ids, size_t size, const std::vector<station*>& all) {
  const auto data = pattern(size, static_cast<int>(size));
  std::vector<char> buffer(size), read(size);
  lci::post_am_x(ids.there, data.data(), size, from.ends, to.rcomp)
      .allow_retry(false)
      .allow_done(false)
      .runtime(from.rt)();
  lci::post_recv_x(ids.here, buffer.data(), size, 3, to.ends).allow_retry(false).runtime(to.rt)();
  lci::post_send_x(ids.there, data.data(), size, 3, from.ends).allow_retry(false).allow_done(false).runtime(from.rt)();
  int at_from = 0, at_to = 0;
  lci::status_t am;
  run(all, [&] {
    at_from += lci::cq_pop_x(from.ends).runtime(from.rt)().is_done();
    at_to += lci::cq_pop_x(to.ends).runtime(to.rt)().is_done();
    if (!am.is_done() || am.buffer == nullptr) am = lci::cq_pop_x(to.cq).runtime(to.rt)();
    return at_from == 2 && at_to == 1 && am.is_done();
  });
  CHECK(am.rank == ids.here);
  REQUIRE(am.size == size);
  CHECK(std::memcmp(am.buffer, data.data(), size) == 0);
  std::free(am.buffer);
  CHECK(buffer == data);

  std::vector<char> window(size);
  auto mr = lci::register_memory_x(window.data(), size).runtime(to.rt)();
  const auto rmr = lci::get_rmr_x(mr).runtime(to.rt)();
  const auto once = [&](lci::status_t s) {
    run(all, [&] { return s.is_done() || lci::cq_pop_x(from.ends).runtime(from.rt)().is_done(); });
  };
  once(lci::post_put_x(ids.there, data.data(), size, from.ends, 0, rmr)
           .allow_retry(false)
           .comp_semantic(lci::comp_semantic_t::remote)
           .runtime(from.rt)());
  once(lci::post_get_x(ids.there, read.data(), size, from.ends, 0, rmr).allow_retry(false).runtime(from.rt)());
  CHECK(window == data);
  CHECK(read == data);
  lci::deregister_memory_x(&mr).runtime(to.rt)();
}

/// Returns whether posts to this id throw, since no connection has it.
bool is_refused(station& s, int peer) {
  char byte = 0;
  try {
    lci::post_am_x(peer, &byte, 1, lci::COMP_NULL_RETRY, s.rcomp).runtime(s.rt)();
    return false;
  } catch (const lci::peer_failure_error&) {
    return true;
  } catch (const lci::invalid_argument_error&) {
    return true;
  }
}

}  // namespace

TEST_CASE("separately started runtimes communicate by all operations, and disconnect") {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const settings how{.seed = seed, .preposted = seed % 2 == 0, .rma = seed % 3 != 0};
    std::shared_ptr<lci::network::sim::world> world;
    {
      station server(how), a(how), b(how);
      const std::vector<station*> all{&server, &a, &b};
      world = lci::network::sim::world::current();
      const pair_of_ids to_a = connect(a, server, all), to_b = connect(b, server, all);
      CHECK(to_a.here != to_b.here);
      for (const size_t size : {size_t{8}, size_t{3000}, size_t{60'000}}) {
        exchange(a, server, to_a, size, all);
        exchange(b, server, to_b, size, all);
        exchange(server, a, {to_a.here, to_a.there}, size, all);
      }
      lci::disconnect_x(to_a.there).runtime(a.rt)();
      CHECK(is_refused(a, to_a.there));
      run(all, [&] { return is_refused(server, to_a.here) && server.drained() && a.drained(); });
      exchange(b, server, to_b, 5000, all);  // other peers are not affected
      CHECK(server.failed.empty());
    }
    CHECK(world->violations().empty());
  }
}

TEST_CASE("operations in flight to a peer that disconnects end once, and none of them reaches the next peer") {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    settings how{.seed = seed, .max_peers = 1};  // so that each client has the id of the one before
    station server(how);
    for (int visit = 0; visit < 4; ++visit) {
      CAPTURE(visit);
      station client(how);
      const std::vector<station*> all{&server, &client};
      pair_of_ids ids{};
      run(all, [&] {  // retry: the server may not have released the id yet
        try {
          ids = connect(client, server, all);
          return true;
        } catch (const lci::resource_error&) {
          return false;
        }
      });
      // Streams count messages by peer id: the numbers of each client start at 0.
      auto stream = lci::alloc_stream_x().runtime(client.rt)();
      for (int i = 0; i < 3; ++i)
        lci::post_am_x(ids.there, &i, sizeof i, client.ends, server.rcomp)
            .stream(stream)
            .allow_retry(false)
            .runtime(client.rt)();
      for (int i = 0; i < 3; ++i) {
        lci::status_t s;
        run(all, [&] { return (s = lci::cq_pop_x(server.cq).runtime(server.rt)()).is_done(); });
        CHECK(*static_cast<int*>(s.buffer) == i);
        std::free(s.buffer);
      }
      lci::free_stream_x(&stream).runtime(client.rt)();
      // From the server: a receive that no message matches, and a large message.
      std::vector<char> buffer(40'000), large(40'000);
      lci::post_recv_x(ids.here, buffer.data(), buffer.size(), 99, server.ends).allow_retry(false).runtime(server.rt)();
      lci::post_send_x(ids.here, large.data(), large.size(), 5, server.ends)
          .allow_retry(false)
          .allow_done(false)
          .runtime(server.rt)();
      // From the client: a message without a receive. It must not match the receive for the next client.
      char late = static_cast<char>(visit);
      lci::post_send_x(ids.there, &late, 1, 6, lci::COMP_NULL_RETRY).allow_retry(false).runtime(client.rt)();
      if ((seed + static_cast<uint64_t>(visit)) % 2 == 0)
        lci::disconnect_x(ids.here).runtime(server.rt)();
      else
        lci::disconnect_x(ids.there).runtime(client.rt)();
      int ended = 0;
      run(all, [&] {
        const auto s = lci::cq_pop_x(server.ends).runtime(server.rt)();
        if (s.error.errorcode == lci::errorcode_t::fatal) ++ended;
        return ended == 2;
      });
      run(all, [&] { return server.drained() && client.drained(); });
      CHECK(lci::cq_pop_x(server.ends).runtime(server.rt)().is_retry());
      CHECK(server.failed.empty());
    }
    // The last client: the receive gets only its message.
    station client(how);
    const std::vector<station*> all{&server, &client};
    const pair_of_ids ids = connect(client, server, all);
    char sent = 'n', got = 0;
    lci::post_recv_x(ids.here, &got, 1, 6, server.ends).allow_retry(false).runtime(server.rt)();
    lci::post_send_x(ids.there, &sent, 1, 6, lci::COMP_NULL_RETRY).allow_retry(false).runtime(client.rt)();
    run(all, [&] { return lci::cq_pop_x(server.ends).runtime(server.rt)().is_done(); });
    CHECK(got == 'n');
  }
}

TEST_CASE("a peer outside of the job that dies is a failure, and disconnect frees its id") {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    settings how{.seed = seed, .max_peers = 1};
    station server(how);
    const auto world = lci::network::sim::world::current();
    for (int visit = 0; visit < 3; ++visit) {
      station client(how);
      const int number = world->size() + visit;  // stations are numbered in the order of their creation
      const std::vector<station*> all{&server, &client};
      const pair_of_ids ids = connect(client, server, all);
      std::vector<char> large(40'000);
      lci::post_send_x(ids.here, large.data(), large.size(), 5, server.ends)
          .allow_retry(false)
          .allow_done(false)
          .runtime(server.rt)();
      world->kill(number);
      lci::status_t end;
      run(all, [&] {
        const auto s = lci::cq_pop_x(server.ends).runtime(server.rt)();
        if (!s.is_retry()) end = s;
        return end.error.errorcode == lci::errorcode_t::fatal && !server.failed.empty() && !client.failed.empty();
      });
      CHECK(server.failed == std::vector<int>{ids.here});
      server.failed.clear();
      CHECK(is_refused(server, ids.here));
      REQUIRE_THROWS_AS(lci::connect_x(client.address()).runtime(server.rt)(), lci::peer_failure_error);
      lci::disconnect_x(ids.here).runtime(server.rt)();
    }
  }
}

TEST_CASE("a refused connection is reported, and connecting to an absent peer does not wait") {
  station closed({.accept = false}), full({.max_peers = 1}), a({}), b({});
  const std::vector<station*> all{&closed, &full, &a, &b};
  connect(a, full, all);
  for (station* to : {&closed, &full}) {
    REQUIRE(lci::connect_x(to->address()).local_comp(b.ends).runtime(b.rt)().is_posted());
    lci::status_t s;
    run(all, [&] { return !(s = lci::cq_pop_x(b.ends).runtime(b.rt)()).is_retry(); });
    CHECK(s.error.errorcode == lci::errorcode_t::fatal);
  }
  // `a` makes no progress meanwhile.
  REQUIRE_THROWS_WITH(lci::connect_x(a.address()).timeout(0.01).runtime(b.rt)(),
                      Catch::Contains("did not answer in time"));
  CHECK(lci::connect_x(b.address()).runtime(b.rt)().rank == 0);
  for (const char* bad : {"", "sim://", "sim://1/77", "shm://0/1"})
    REQUIRE_THROWS_AS(lci::connect_x(bad).runtime(b.rt)(), lci::invalid_argument_error);
  for (const int bad : {0, -1, 9})
    REQUIRE_THROWS_AS(lci::disconnect_x(bad).runtime(b.rt)(), lci::invalid_argument_error);
  lci::disconnect_x(5).runtime(b.rt)();  // an unused id: no effect
  char byte = 0;
  REQUIRE_THROWS_WITH(lci::post_am_x(5, &byte, 1, lci::COMP_NULL, b.rcomp).runtime(b.rt)(),
                      Catch::Contains("no peer outside of the job is connected"));
  REQUIRE_THROWS_WITH(lci::post_am_x(9, &byte, 1, lci::COMP_NULL, b.rcomp).runtime(b.rt)(), Catch::Contains("0..8"));
}
