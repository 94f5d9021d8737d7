// CCS in C++: operations as functors, typed handlers, composed layouts, and RAII classes.
#include <ccs.hpp>
#include <cstring>
#include <numeric>

#include "tests/layers/ccs/job.hpp"

using namespace ccs_test;

namespace {

int next() { return (ccs::me() + 1) % ccs::size(); }
int previous() { return (ccs::me() + ccs::size() - 1) % ccs::size(); }

struct record {
  char key;
  double values[3];
  int32_t count;
};

}  // namespace

TEST_CASE("typed handlers get their arguments, data and captures, and reply", "[cpp]") {
  lci_test::time_limit(60);
  const ccs::session s;
  ccs::context mine, other;
  long sum = 0;
  int answers = 0, strangers = 0;
  std::vector<double> got;
  const auto answer = mine.handler<long, void*>([&](const ccs::message& m, long doubled, void* to) {
    CHECK(m.sender() == next());
    CHECK(m.size() == 0);
    *static_cast<long*>(to) += doubled;
    ++answers;
  });
  const auto add = mine.handler<int, void*>([&](const ccs::message& m, int by, void* to) {
    CHECK(m.sender() == previous());
    sum += by;
    m.reply(answer, 2L * by, to);
  });
  const auto values = mine.handler<>([&](const ccs::message& m) {
    got.resize(m.size() / sizeof(double));
    std::memcpy(got.data(), m.data(), m.size());
  });
  const auto stranger = other.handler<int, void*>([&](const ccs::message&, int, void*) { ++strangers; });
  CHECK(stranger.id() == answer.id());
  ccs::barrier();
  long doubled = 0;
  for (int i = -10; i < 100; ++i) add(next(), i, &doubled);
  std::vector<double> matrix(60);
  std::iota(matrix.begin(), matrix.end(), 0.5);
  values.send(next(), {matrix.data(), ccs::layout::of<double>().vector(10, 1, 6 * 8)});
  stranger(next(), 1, nullptr);
  poll_until([&] { return answers == 110 && !got.empty() && strangers == 1; });
  CHECK(sum == 99 * 100 / 2 - 55);
  CHECK(doubled == 2 * sum);
  REQUIRE(got.size() == 10);
  for (size_t i = 0; i < 10; ++i) CHECK(got[i] == static_cast<double>(6 * i) + 0.5);
  ccs::barrier();
}

TEST_CASE("puts and gets take spans and composed layouts, and report completion", "[cpp]") {
  lci_test::time_limit(60);
  const ccs::session s;
  ccs::symmetric<record> there(100);
  std::vector<record> out(100), in(100);
  for (int i = 0; i < 100; ++i)
    out[static_cast<size_t>(i)] = {static_cast<char>(i), {i + 0.25, i + 0.5, i + 0.75}, i * ccs::me()};
  ccs::put(next(), {out.data(), size_t{100}}, there.all());
  ccs::barrier();
  CHECK(there[7].values[1] == 7.5);
  CHECK(there[7].count == 7 * previous());
  // The numbers of every second record.
  const ccs::layout numbers = ccs::layout::structure({{offsetof(record, values), ccs::layout::of<double>(3)},
                                                      {offsetof(record, count), ccs::layout::of<int32_t>()}})
                                  .resized(0, sizeof(record));
  CHECK(numbers.size() == 28);
  CHECK(numbers.extent() == sizeof(record));
  const ccs::layout half = numbers.vector(50, 1, 2 * sizeof(record));
  ccs::pending p;
  int called = 0;
  ccs::get_x(next(), {there.data(), half}, {in.data(), half}).on_done(p)();
  ccs::get_x(next(), {there.data(), size_t{1}}, {&in[1], size_t{1}}).on_done([&] { ++called; })();
  p.wait();
  poll_until([&] { return called == 1; });
  CHECK(in[98].values[2] == 98.75);
  CHECK(in[98].key == 0);
  CHECK(in[99].count == 0);
  CHECK(in[1].key == 0);
  CHECK(in[1].values[0] == 0.25);
  {
    ccs::pending many;
    const auto put = ccs::put_x(next(), {out.data(), size_t{50}}, {there.data() + 50, size_t{50}}).on_remote(many);
    for (int i = 0; i < 20; ++i) put();
  }
  ccs::barrier();
  CHECK(there[50].key == 0);
  CHECK(there[99].key == 49);
  ccs::barrier();
}

TEST_CASE("atomics, accumulates and collectives of C++ give the same results as one process", "[cpp]") {
  lci_test::time_limit(60);
  const ccs::session s;
  const int n = ccs::size();
  ccs::symmetric<uint64_t> words(4);
  ccs::symmetric<double> numbers(100);
  ccs::barrier();
  ccs::pending p;
  for (int i = 0; i < 50; ++i) ccs::atomic(0, CCS_ATOMIC_FETCHADD, words.data(), 2);
  uint64_t old = 99;
  ccs::atomic_x(next(), CCS_ATOMIC_COMPARESWAP, words.data() + 1, 5).compare(0).result(&old).on_done(p)();
  std::vector<double> ones(100, 1.0);
  for (int node = 0; node < n; ++node) {
    ccs::accumulate<double>(node, {ones.data(), size_t{100}}, numbers.all());
    ccs::accumulate_x<double>(node, {ones.data(), size_t{100}}, numbers.all()).scale(0.5).on_remote(p)();
  }
  p.wait();
  CHECK(old == 0);
  ccs::fence();
  ccs::barrier();
  CHECK(ccs::atomic(0, CCS_ATOMIC_READ, words.data(), 0) == static_cast<uint64_t>(100 * n));
  CHECK(words[1] == 5);
  CHECK(numbers[99] == 1.5 * n);
  int64_t mine = ccs::me() + 1, most = 0;
  ccs::reduce_x<int64_t>(&mine, &most, 1).op(CCS_MAX)();
  CHECK(most == n);
  double token = ccs::me() == n - 1 ? 2.5 : 0;
  ccs::bcast_x({&token, size_t{1}}).root(n - 1)();
  CHECK(token == 2.5);
  ccs::mutex m;
  { const std::lock_guard guard(m); }
  ccs::barrier();
}

TEST_CASE("refused operations throw and leave nothing outstanding", "[cpp]") {
  const ccs::session s;
  int byte = 0;
  ccs::pending p;
  CHECK_THROWS_AS(ccs::put(ccs::size(), {&byte, size_t{1}}, {&byte, size_t{1}}), ccs::error);
  CHECK_THROWS_AS(ccs::put_x(ccs::size(), {&byte, size_t{1}}, {&byte, size_t{1}}).on_remote(p)(), ccs::error);
  CHECK_THROWS_AS(ccs::put_x(ccs::size(), {&byte, size_t{1}}, {&byte, size_t{1}}).on_remote([] {})(), ccs::error);
  CHECK_THROWS_AS(ccs::layout::of<int>().repeat(-1), ccs::error);
  CHECK_THROWS_AS(ccs::layout::strided({1, 2}, {}), std::invalid_argument);
  CHECK(p.test());
}
