// Active messages: arguments, data, order, replies, contexts, and where handlers run.
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "tests/layers/ccs/job.hpp"
#include "tests/layers/ccs/random_description.hpp"

using namespace ccs_test;

namespace {

struct {
  int runs = 0;
  unsigned length = 0, n = 0;
  CCS_node_t sender = 0;
  std::vector<CCS_handler_arg_t> args;
  std::vector<unsigned char> data;
  bool aligned = true;
} got;

void note(CCS_token_t token, void* buffer, unsigned length, unsigned n) {
  ++got.runs;
  got.length = length;
  got.n = n;
  CHECK(CCS_sender_rank(token, &got.sender) == CCS_SUCCESS);
  got.data.assign(static_cast<unsigned char*>(buffer), static_cast<unsigned char*>(buffer) + length);
  got.aligned = reinterpret_cast<uintptr_t>(buffer) % 16 == 0;
}

void with_list(CCS_token_t token, void* buffer, unsigned length, unsigned n, ...) {
  note(token, buffer, length, n);
  got.args.clear();
  va_list list;
  va_start(list, n);
  for (unsigned i = 0; i < n; ++i) got.args.push_back(va_arg(list, CCS_handler_arg_t));
  va_end(list);
}

void with_none(CCS_token_t token, void* buffer, unsigned length) { note(token, buffer, length, 0); }

// The length as an int, as programs in C have it.
void with_two(CCS_token_t token, void* buffer, int length, void* pointer, int number) {
  note(token, buffer, static_cast<unsigned>(length), 2);
  got.args = {reinterpret_cast<CCS_handler_arg_t>(pointer), static_cast<CCS_handler_arg_t>(number)};
}

void with_sixteen(CCS_token_t token, void* buffer, unsigned length, char a0, int a1, long a2, void* a3, unsigned a4,
                  short a5, long long a6, int a7, int a8, int a9, int a10, int a11, int a12, int a13, int a14,
                  const char* a15) {
  note(token, buffer, length, 16);
  got.args = {static_cast<CCS_handler_arg_t>(a0),
              static_cast<CCS_handler_arg_t>(a1),
              static_cast<CCS_handler_arg_t>(a2),
              reinterpret_cast<CCS_handler_arg_t>(a3),
              a4,
              static_cast<CCS_handler_arg_t>(a5),
              static_cast<CCS_handler_arg_t>(a6),
              static_cast<CCS_handler_arg_t>(a7),
              static_cast<CCS_handler_arg_t>(a8),
              static_cast<CCS_handler_arg_t>(a9),
              static_cast<CCS_handler_arg_t>(a10),
              static_cast<CCS_handler_arg_t>(a11),
              static_cast<CCS_handler_arg_t>(a12),
              static_cast<CCS_handler_arg_t>(a13),
              static_cast<CCS_handler_arg_t>(a14),
              reinterpret_cast<CCS_handler_arg_t>(a15)};
}

using args16 = std::vector<CCS_handler_arg_t>;

std::vector<unsigned char> pattern(size_t n, int seed) {
  std::vector<unsigned char> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<unsigned char>(i * 7 + static_cast<size_t>(seed));
  return v;
}

}  // namespace

TEST_CASE("both kinds of handlers get arguments, data and sender", "[messages]") {
  job j;
  REQUIRE(CCS_register_handler(j.context, 0, with_list) == CCS_SUCCESS);
  REQUIRE(CCS_register_handler(j.context, 1, with_none) == CCS_SUCCESS);
  REQUIRE(CCS_register_handler(j.context, 2, with_two) == CCS_SUCCESS);
  REQUIRE(CCS_register_handler(j.context, 255, with_sixteen) == CCS_SUCCESS);
  got = {};
  int expected = 0;
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  for (size_t size : {0, 1, 8, 15, 16, 100, 511, 513, 4000, 16384}) {
    // A ring: each process sends to the next one and receives from the previous one.
    const std::vector<unsigned char> mine = pattern(size, j.rank),
                                     theirs = pattern(size, static_cast<int>(j.previous()));
    auto* data = const_cast<unsigned char*>(mine.data());
    const auto count = static_cast<unsigned>(size);
    INFO(size << " bytes");
    const auto arrived = [&] {
      ++expected;
      poll_until([&] { return got.runs >= expected; });
      CHECK(got.runs == expected);
      CHECK(got.data == theirs);
      CHECK(got.sender == j.previous());
      CHECK((size == 0 || got.aligned));
    };
    const auto everywhere = [] { REQUIRE(CCS_barrier() == CCS_SUCCESS); };
    REQUIRE(CCS_amrequest(j.context, j.next(), data, count, CCS_DATA8, 0, 3, 1, &got, 3ul) == CCS_SUCCESS);
    arrived();
    CHECK(got.args.size() == 3);
    CHECK(static_cast<int>(got.args[0]) == 1);
    everywhere();
    REQUIRE(CCS_amrequest(j.context, j.next(), data, count, CCS_DATA8, 1, 0) == CCS_SUCCESS);
    arrived();
    everywhere();
    REQUIRE(CCS_amrequest(j.context, j.next(), data, count, CCS_DATA8, 2, 2, &got, -5) == CCS_SUCCESS);
    arrived();
    CHECK(static_cast<int>(got.args[1]) == -5);
    everywhere();
    REQUIRE(CCS_amrequest(j.context, j.next(), data, count, CCS_DATA8, 255, 16, 'x', -1, -2l, &got, 4u, 5, 6ll, 7, 8, 9,
                          10, 11, 12, 13, 14, "text") == CCS_SUCCESS);
    arrived();
    CHECK(got.args[0] == 'x');
    CHECK(static_cast<long>(got.args[2]) == -2);
    for (size_t i = 4; i < 15; ++i) CHECK(static_cast<int>(got.args[i]) == static_cast<int>(i));
    everywhere();
  }
}

TEST_CASE("non-contiguous data arrives packed", "[messages]") {
  job j;
  REQUIRE(CCS_register_handler(j.context, 7, with_none) == CCS_SUCCESS);
  got = {};
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  constexpr size_t middle = 1 << 17;
  const std::vector<unsigned char> memory = pattern(2 * middle, 3);
  int sent = 0;
  std::vector<unsigned char> last;
  for (int seed = 0; seed < 200; ++seed) {
    generator make(static_cast<uint64_t>(seed));  // the same on all ranks
    const described d = make.any(3, 2000);
    const std::vector<intptr_t> at = places(d.is, 2);
    if (at.size() > CCS_MAX_AM_LENGTH) continue;
    last.clear();
    for (const intptr_t a : at) last.push_back(memory[static_cast<size_t>(static_cast<intptr_t>(middle) + a)]);
    REQUIRE(CCS_amrequest(j.context, j.next(), const_cast<unsigned char*>(memory.data()) + middle, 2, d.desc, 7, 0) ==
            CCS_SUCCESS);
    ++sent;
    poll_until([&] { return got.runs >= sent; });
    INFO("seed " << seed);
    REQUIRE(got.data == last);
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
  }
  CHECK(sent > 100);
}

namespace {

constexpr int n_streams = 5;               // contexts
std::vector<std::vector<uint64_t>> order;  // by source: the numbers in the order of arrival
bool damaged = false;
void in_order(CCS_token_t token, void* buffer, unsigned length, uint64_t number) {
  CCS_node_t from = 0;
  CCS_sender_rank(token, &from);
  const auto* data = static_cast<const unsigned char*>(buffer);
  for (unsigned i = 0; i < length; ++i) damaged |= data[i] != static_cast<unsigned char>(number + i);
  order[from].push_back(number);
}
int large_header(CCS_token_t token, size_t, void** dest, size_t* count, CCS_datadesc_t* desc, CCS_callback_t* done,
                 void** done_arg, unsigned n, ...) {
  CCS_node_t from = 0;
  CCS_sender_rank(token, &from);
  va_list list;
  va_start(list, n);
  order[from].push_back(va_arg(list, CCS_handler_arg_t));
  va_end(list);
  static char room[100000];
  *dest = room;
  *count = sizeof room;
  *desc = CCS_DATA8;
  *done = nullptr;
  *done_arg = nullptr;
  return CCS_SUCCESS;
}

}  // namespace

TEST_CASE("messages of each pair arrive in order, whatever their sizes, contexts and descriptions", "[messages]") {
  lci_test::time_limit(200);
  job j;
  std::vector<CCS_context_t> contexts(n_streams);
  for (auto& c : contexts) {
    REQUIRE(CCS_new_context(&c) == CCS_SUCCESS);
    REQUIRE(CCS_register_handler(c, c, in_order) == CCS_SUCCESS);
    REQUIRE(CCS_register_large_handler(c, 200, large_header) == CCS_SUCCESS);
  }
  order.assign(static_cast<size_t>(j.size), {});
  damaged = false;
  CCS_datadesc_t every_second = CCS_DATA_NULL;
  REQUIRE(CCS_datadesc_create_vector(1, 1, 2, CCS_DATA8, &every_second) == CCS_SUCCESS);
  CCS_datadesc_t spread = CCS_DATA_NULL;
  CCS_datadesc_t bytes[] = {CCS_DATA8, CCS_DATA_UB};
  int ones[] = {1, 1};
  CCS_aint_t at[] = {0, 2};
  REQUIRE(CCS_datadesc_create_struct(2, ones, at, bytes, &spread) == CCS_SUCCESS);
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  generator random(static_cast<uint64_t>(j.rank) + 1);
  const int n = 4000 * lci_test::long_runs();
  static std::vector<char> big(100000);
  int larges = 0;
  for (int i = 0; i < n; ++i) {
    const auto number = static_cast<uint64_t>(i);
    const CCS_context_t c = contexts[static_cast<size_t>(random.number(0, n_streams - 1))];
    const int kind = random.number(0, 99);
    if (kind == 0) {
      for (CCS_node_t to = 0; to < static_cast<CCS_node_t>(j.size); ++to, ++larges)
        REQUIRE(CCS_amlarge(c, to, big.data(), big.size(), CCS_DATA8, 200, nullptr, nullptr, 1, number) == CCS_SUCCESS);
      continue;
    }
    const auto size = static_cast<size_t>(kind < 60   ? random.number(0, 16)
                                          : kind < 90 ? random.number(0, 2000)
                                                      : random.number(0, 16384));
    std::vector<unsigned char> data(2 * size + 1);
    const bool described = kind % 2 == 0;
    for (size_t b = 0; b < size; ++b) data[described ? 2 * b : b] = static_cast<unsigned char>(number + b);
    for (CCS_node_t to = 0; to < static_cast<CCS_node_t>(j.size); ++to)
      REQUIRE(CCS_amrequest(c, to, data.data(), static_cast<unsigned>(size), described ? spread : CCS_DATA8, c, 1,
                            number) == CCS_SUCCESS);
  }
  poll_until([&] {
    for (const auto& from : order)
      if (from.size() < static_cast<size_t>(n)) return false;
    return true;
  });
  REQUIRE(CCS_allfence() == CCS_SUCCESS);
  CHECK(!damaged);
  for (const auto& from : order)
    for (size_t i = 0; i < from.size(); ++i) REQUIRE(from[i] == i);
  CHECK(larges > 0);
  CCS_datadesc_free(&every_second);
  CCS_datadesc_free(&spread);
}

namespace {

int replies = 0, refused_replies = 0;
void asks(CCS_token_t token, void* buffer, unsigned length, int number) {
  CHECK(CCS_amreply(token, buffer, length, CCS_DATA8, 2, 1, number + 1) == CCS_SUCCESS);
  CHECK(CCS_amreply(token, nullptr, 0, CCS_DATA_NULL, 2, 1, number + 2) == CCS_SUCCESS);
}
void answered(CCS_token_t token, void*, unsigned, int number) {
  replies += number;
  refused_replies += CCS_amreply(token, nullptr, 0, CCS_DATA_NULL, 2, 1, 0) == CCS_FAILURE;
}

}  // namespace

TEST_CASE("a request is replied to, a reply is not", "[messages]") {
  job j;
  REQUIRE(CCS_register_handler(j.context, 1, asks) == CCS_SUCCESS);
  REQUIRE(CCS_register_handler(j.context, 2, answered) == CCS_SUCCESS);
  replies = refused_replies = 0;
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  char text[] = "abc";
  REQUIRE(CCS_amrequest(j.context, j.next(), text, 4, CCS_DATA8, 1, 1, 10) == CCS_SUCCESS);
  poll_until([&] { return refused_replies == 2; });
  CHECK(replies == 23);
  CHECK(CCS_sender_rank(nullptr, static_cast<CCS_node_t*>(nullptr)) == CCS_FAILURE);  // not in a handler
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
}

namespace {

std::vector<int> by_context;
void first_of_context(CCS_token_t, void*, unsigned, int context) { by_context[static_cast<size_t>(context)] += 1; }
void second_of_context(CCS_token_t, void*, unsigned, int context) { by_context[static_cast<size_t>(context)] += 100; }

}  // namespace

TEST_CASE("256 contexts are isolated, and there is no further one", "[messages]") {
  job j;
  std::vector<CCS_context_t> contexts{j.context};
  while (contexts.size() < CCS_MAX_CONTEXTS) {
    contexts.push_back(0);
    REQUIRE(CCS_new_context(&contexts.back()) == CCS_SUCCESS);
  }
  CCS_context_t none = 0;
  CHECK(CCS_new_context(&none) == CCS_FAILURE);
  by_context.assign(CCS_MAX_CONTEXTS, 0);
  for (size_t i = 0; i < contexts.size(); ++i) {
    REQUIRE(contexts[i] == i);
    REQUIRE(CCS_register_handler(contexts[i], 9, i % 2 == 0 ? first_of_context : second_of_context) == CCS_SUCCESS);
  }
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  for (size_t i = 0; i < contexts.size(); ++i)
    REQUIRE(CCS_amrequest(contexts[i], j.next(), nullptr, 0, CCS_DATA_NULL, 9, 1, static_cast<int>(i)) == CCS_SUCCESS);
  poll_until([&] { return by_context.back() > 0; });
  for (size_t i = 0; i < contexts.size(); ++i) CHECK(by_context[i] == (i % 2 == 0 ? 1 : 100));
  REQUIRE(CCS_register_handler(contexts[4], 9, second_of_context) == CCS_SUCCESS);  // replaces
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  REQUIRE(CCS_amrequest(contexts[4], j.next(), nullptr, 0, CCS_DATA_NULL, 9, 1, 4) == CCS_SUCCESS);
  poll_until([&] { return by_context[4] == 101; });
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
}

namespace {

int hops = 0;
CCS_context_t hop_context = 0;
void hop(CCS_token_t, void*, unsigned, int left) {
  ++hops;
  CCS_node_t me = 0, n = 0;
  CCS_get_rank(&me);
  CCS_get_size(&n);
  if (left > 0)
    CHECK(CCS_amrequest(hop_context, (me + 1) % n, nullptr, 0, CCS_DATA_NULL, 3, 1, left - 1) == CCS_SUCCESS);
}

}  // namespace

TEST_CASE("messages that handlers send are delivered before the job ends", "[messages]") {
  {
    job j;
    hop_context = j.context;
    hops = 0;
    REQUIRE(CCS_register_handler(j.context, 3, hop) == CCS_SUCCESS);
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
    REQUIRE(CCS_amrequest(j.context, j.next(), nullptr, 0, CCS_DATA_NULL, 3, 1, j.size * 50 - 1) == CCS_SUCCESS);
  }
  CHECK(hops == lci_test::process_count() * 50);
}

TEST_CASE("a program that calls only collectives gets its messages", "[messages]") {
  const job j;
  got.runs = 0;
  REQUIRE(CCS_register_handler(j.context, 1, with_none) == CCS_SUCCESS);
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  for (int message = 1; message <= 2; ++message) {
    REQUIRE(CCS_amrequest(j.context, j.next(), nullptr, 0, CCS_DATA_NULL, 1, 0) == CCS_SUCCESS);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    bool all_returned = true;
    for (int32_t all = 0; all < j.size;) {
      const int32_t mine = got.runs >= message || std::chrono::steady_clock::now() > end ? 1 : 0;
      const bool in_barriers = message == 1 && j.size == 1;  // otherwise all processes must agree on the end
      if (message == 1) all_returned &= CCS_barrier() == CCS_SUCCESS;
      if (in_barriers)
        all = mine;
      else
        all_returned &= CCS_allreduce(&mine, &all, 1, CCS_INT32, CCS_SUM) == CCS_SUCCESS;
    }
    REQUIRE(all_returned);
    REQUIRE(got.runs >= message);
  }
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  REQUIRE(got.runs == 2);
}

TEST_CASE("barriers and reductions end, however late other processes enter them", "[messages]") {
  // Varies the delay of one process, so that its message arrives while the others spin, begin to sleep, or wake.
  lci_test::time_limit(60);
  job j;
  generator random(static_cast<uint64_t>(j.rank) + 5);
  for (int i = 0; i < 500 * lci_test::long_runs(); ++i) {
    if (i % j.size == j.rank) std::this_thread::sleep_for(std::chrono::microseconds(random.number(0, 1200)));
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
    uint64_t mine = 1, all = 0;
    if (i % 8 == 0) REQUIRE(CCS_allreduce(&mine, &all, 1, CCS_UINT64, CCS_SUM) == CCS_SUCCESS);
    if (i % 8 == 0) REQUIRE(all == static_cast<uint64_t>(j.size));
  }
}
