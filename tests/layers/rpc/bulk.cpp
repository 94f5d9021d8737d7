// Bulks: memory of one process that another process reads and writes.
#include <numeric>

#include "tests/layers/rpc/engines.hpp"

using namespace test;

namespace {

std::vector<uint32_t> numbers(size_t n, uint32_t seed) {
  std::vector<uint32_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<uint32_t>(i * 2654435761u) ^ seed;
  return v;
}

}  // namespace

TEST_CASE("a function pulls from and pushes to its caller's memory") {
  const engines e;
  e.server.define("double", [](const rpc::bulk& b) {
    std::vector<uint32_t> v(b.size() / sizeof(uint32_t));
    b.pull_x(v)().get();
    for (uint32_t& x : v) x *= 2;
    b.push_x(v).deadline(20s)().get();
    return v.size();
  });
  const auto twice = e.client.declare<size_t(rpc::bulk)>("double");
  for (size_t n : {1, 1000, 1 << 20}) {
    std::vector<uint32_t> v = numbers(n, 5);
    CHECK(twice.on(e.there)(e.client.expose(v)) == n);
    std::vector<uint32_t> expected = numbers(n, 5);
    for (uint32_t& x : expected) x *= 2;
    CHECK(v == expected);
  }
}

TEST_CASE("a bulk of many pieces, and its sub-ranges, share one registration") {
  const engines e;
  e.server.define("fill", [](const rpc::bulk& b, char c) { b.push_x(std::string(b.size(), c))().get(); });
  e.server.define("read", [](const rpc::bulk& b) {
    std::string s(b.size(), 0);
    b.pull_x(s)().get();
    return s;
  });
  const auto fill = e.client.declare<void(rpc::bulk, char)>("fill");
  const auto read = e.client.declare<std::string(rpc::bulk)>("read");
  std::string a(10, 'a'), b(20, 'b'), c(30, 'c');
  const iovec pieces[] = {{a.data(), a.size()}, {b.data(), 0}, {b.data(), b.size()}, {c.data(), c.size()}};
  const rpc::bulk whole = e.client.expose(pieces, 4);
  CHECK(whole.size() == 60);
  CHECK(read.on(e.there)(whole) == a + b + c);
  CHECK(read.on(e.there)(whole.sub(5, 40)) == (a + b + c).substr(5, 40));
  CHECK(read.on(e.there)(whole.sub(5, 40).sub(10, 7)) == (a + b + c).substr(15, 7));
  fill.on(e.there)(whole.sub(8, 25), 'x');
  CHECK(a + b + c == std::string(8, 'a') + std::string(25, 'x') + std::string(27, 'c'));
  // A sub-range is serialized with the description of the whole memory, so it needs no registration.
  e.server.define("same", [](const rpc::bulk& x, const rpc::bulk& part) {
    std::string all(x.size(), 0), some(part.size(), 0);
    x.pull_x(all)().get();
    part.pull_x(some)().get();
    return all.substr(10, 20) == some;
  });
  CHECK(e.client.declare<bool(rpc::bulk, rpc::bulk)>("same").on(e.there)(whole, whole.sub(10, 20)));
  e.server.define("back", [](rpc::bulk x) { return x; });
  const rpc::bulk own = e.client.declare<rpc::bulk(rpc::bulk)>("back").on(e.there)(whole.sub(10, 20));
  CHECK(own.is_local());
  CHECK(own.size() == 20);
  std::string copy(20, 0);
  own.pull_x(copy)().get();
  CHECK(copy == b);
}

TEST_CASE("a bulk may be a result, empty, or of many segments") {
  engines e;
  std::vector<uint32_t> v = numbers(10000, 9);
  rpc::bulk kept = e.server.expose(static_cast<const void*>(v.data()), v.size() * sizeof v[0]);
  e.server.define("give", [&](bool some) { return some ? kept : rpc::bulk(); });
  const auto give = e.client.declare<rpc::bulk(bool)>("give");
  CHECK_FALSE(static_cast<bool>(give.on(e.there)(false)));
  const rpc::bulk b = give.on(e.there)(true);
  CHECK_FALSE(b.is_local());
  std::vector<uint32_t> w(v.size());
  b.pull_x(w)().get();
  CHECK(w == v);
  CHECK_THROWS_AS(b.push_x(w)(), lci::invalid_argument_error);  // the bulk is read-only
  std::vector<iovec> pieces(2000);
  std::vector<uint32_t> many(4000);
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i] = {&many[2 * i], sizeof(uint32_t)};
  e.server.define("ones", [](const rpc::bulk& x) { x.push_x(std::vector<uint32_t>(x.size() / 4, 1))().get(); });
  e.client.declare<void(rpc::bulk)>("ones").on(e.there)(e.client.expose(pieces.data(), pieces.size()));
  CHECK(std::accumulate(many.begin(), many.end(), 0u) == 2000);
}

TEST_CASE("misuse of bulks is an error with a text") {
  const engines e;
  std::string s(100, 'x');
  const rpc::bulk b = e.client.expose(s);
  CHECK(has(thrown_by<lci::invalid_argument_error>([&] { b.sub(90, 11); }), "11 bytes at 90"));
  CHECK_THROWS_AS(b.sub(101, 0), lci::invalid_argument_error);
  CHECK_THROWS_AS(rpc::bulk().pull_x(s), lci::invalid_argument_error);
  CHECK_THROWS_AS(e.client.expose(static_cast<void*>(nullptr), 5), lci::invalid_argument_error);
  CHECK_THROWS_AS(e.client.expose(s.data(), 0), lci::invalid_argument_error);
  const auto take = e.client.declare<void(rpc::bulk)>("take");
  CHECK(has(thrown_by<lci::invalid_argument_error>([&] { take.on(e.there)(e.server.expose(s)); }), "another engine"));
}
