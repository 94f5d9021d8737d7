// Concurrency of handlers and threads: locks, no-interrupt sections, large messages, and several libraries.
#include <atomic>
#include <cstdarg>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/layers/ccs/job.hpp"
#include "tests/layers/ccs/window.hpp"

using namespace ccs_test;

namespace {

void everywhere() { REQUIRE(CCS_barrier() == CCS_SUCCESS); }

int runs_in_section = 0;
void note_run(CCS_token_t, void*, unsigned) { ++runs_in_section; }

}  // namespace

TEST_CASE("no handler runs in a no-interrupt section, all run after it", "[handlers]") {
  job j;
  REQUIRE(CCS_register_handler(j.context, 0, note_run) == CCS_SUCCESS);
  runs_in_section = 0;
  everywhere();
  REQUIRE(CCS_nointerrupt_begin() == CCS_SUCCESS);
  REQUIRE(CCS_nointerrupt_begin() == CCS_SUCCESS);
  const int before = runs_in_section;  // not 0 if the sender has returned from the barrier before this process
  for (int i = 0; i < 10; ++i)
    REQUIRE(CCS_amrequest(j.context, j.next(), nullptr, 0, CCS_DATA_NULL, 0, 0) == CCS_SUCCESS);
  for (int i = 0; i < 20000; ++i) CCS_poll();
  REQUIRE(CCS_nointerrupt_end() == CCS_SUCCESS);
  for (int i = 0; i < 100; ++i) CCS_poll();
  CHECK(runs_in_section == before);
  REQUIRE(CCS_nointerrupt_end() == CCS_SUCCESS);
  poll_until([] { return runs_in_section >= 10; });
  CHECK(runs_in_section == 10);
  everywhere();
}

namespace {

CCS_lock_t guard = CCS_LOCK_INITIALIZER;
long under_lock = 0;  // not atomic: the lock protects it
void add_under_lock(CCS_token_t, void*, unsigned, int by) {
  CCS_lock(&guard);
  under_lock += by;
  CCS_unlock(&guard);
}

}  // namespace

TEST_CASE("threads and handlers exclude each other by a lock, while all threads send and poll", "[handlers]") {
  lci_test::time_limit(100);
  job j;
  REQUIRE(CCS_register_handler(j.context, 1, add_under_lock) == CCS_SUCCESS);
  under_lock = 0;
  everywhere();
  constexpr int n_threads = 3, n = 1000;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < n_threads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < n; ++i) {
        failures += CCS_amrequest(j.context, j.next(), nullptr, 0, CCS_DATA_NULL, 1, 1, 1) != CCS_SUCCESS;
        add_under_lock(nullptr, nullptr, 0, 1);
        CCS_poll();
        if (CCS_trylock(&guard) == CCS_SUCCESS) {
          ++under_lock;
          CCS_unlock(&guard);
          add_under_lock(nullptr, nullptr, 0, -1);
        }
      }
    });
  for (auto& t : threads) t.join();
  const auto now = [] {
    CCS_lock(&guard);
    const long sum = under_lock;
    CCS_unlock(&guard);
    return sum;
  };
  poll_until([&] { return now() >= 2L * n_threads * n; });
  CHECK(now() == 2L * n_threads * n);
  CHECK(failures == 0);
  everywhere();
}

namespace {

struct {
  int offers = 0, arrived = 0, completed = 0, refused = 0;
  std::vector<unsigned char> room;
} large;

int header(CCS_token_t token, size_t len, void** dest, size_t* count, CCS_datadesc_t* desc, CCS_callback_t* done,
           void** done_arg, unsigned n, ...) {
  CCS_node_t from = 0;
  CHECK(CCS_sender_rank(token, &from) == CCS_SUCCESS);
  va_list list;
  va_start(list, n);
  const auto what = static_cast<int>(va_arg(list, CCS_handler_arg_t));
  va_end(list);
  ++large.offers;
  if (what == 1) return CCS_FAILURE;
  if (what == 2 && large.offers < 5) return CCS_AGAIN;
  large.room.assign(len, 0);
  *dest = large.room.data();
  *count = len;
  *desc = CCS_DATA8;
  *done = count_up;
  *done_arg = &large.arrived;
  return CCS_SUCCESS;
}
void sent(void*) {
  ++large.completed;
  large.refused += CCS_callback_status() == CCS_FAILURE;
}

}  // namespace

TEST_CASE("the header handler of a large message selects its memory, refuses it or delays it", "[handlers]") {
  job j;
  REQUIRE(CCS_register_handler(j.context, 4, header) == CCS_SUCCESS);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{70000}, size_t{3} << 20}) {
    for (int what = 0; what < 3; ++what) {
      large = {};
      everywhere();
      std::vector<unsigned char> data(size);
      for (size_t i = 0; i < size; ++i) data[i] = static_cast<unsigned char>(i * 7 + static_cast<size_t>(j.rank));
      REQUIRE(CCS_amlarge(j.context, j.next(), data.data(), size, CCS_DATA8, 4, sent, nullptr, 1, what) == CCS_SUCCESS);
      poll_until([&] { return large.completed == 1 && large.offers > 0 && (what == 1 || large.arrived == 1); });
      INFO(size << " bytes, way " << what);
      CHECK(large.refused == (what == 1 ? 1 : 0));
      CHECK(large.offers == (what == 2 ? 5 : 1));
      bool right = true;
      if (what != 1) {
        REQUIRE(large.room.size() == size);
        for (size_t i = 0; i < size; ++i)
          right &= large.room[i] == static_cast<unsigned char>(i * 7 + static_cast<size_t>(j.previous()));
      }
      CHECK(right);
      everywhere();
    }
  }
}

namespace {

// Message passing by rendezvous: an announcement, a get by its handler, and a message that the data was read.
struct {
  std::vector<unsigned char> to;
  int received = 0, released = 0;
  CCS_context_t context = 0;
  CCS_node_t from = 0;
} rendezvous;
void fetched(void*) {
  ++rendezvous.received;
  CCS_amrequest(rendezvous.context, rendezvous.from, nullptr, 0, CCS_DATA_NULL, 1, 0);
}
void announced(CCS_token_t token, void*, unsigned, void* address, size_t size) {
  CCS_sender_rank(token, &rendezvous.from);
  rendezvous.to.resize(size);
  CHECK(CCS_get(rendezvous.from, address, size, CCS_DATA8, rendezvous.to.data(), size, CCS_DATA8, fetched, nullptr) ==
        CCS_SUCCESS);
}
void released(CCS_token_t, void*, unsigned) { ++rendezvous.released; }

long counted = 0;  // of a library that counts
void count_for(CCS_token_t, void*, unsigned, int by) { counted += by; }

}  // namespace

TEST_CASE("rendezvous, remote memory and active messages of three libraries proceed at once", "[handlers]") {
  lci_test::time_limit(100);
  job j;  // its context is for rendezvous
  rendezvous = {};
  rendezvous.context = j.context;
  counted = 0;
  CCS_context_t counting = 0;
  REQUIRE(CCS_new_context(&counting) == CCS_SUCCESS);
  REQUIRE(CCS_register_handler(j.context, 0, announced) == CCS_SUCCESS);
  REQUIRE(CCS_register_handler(j.context, 1, released) == CCS_SUCCESS);
  REQUIRE(CCS_register_handler(counting, 0, count_for) == CCS_SUCCESS);  // the same number in another context
  constexpr size_t size = 200000;
  std::vector<unsigned char> from(size);
  window w(j, window::kind::heap, 1 << 16);
  REQUIRE(CCS_register_mem(from.data(), size) == CCS_SUCCESS);
  everywhere();
  int puts = 0;
  constexpr int rounds = 30;
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < size; ++i) from[i] = static_cast<unsigned char>(i + static_cast<size_t>(round + j.rank));
    REQUIRE(CCS_amrequest(j.context, j.next(), nullptr, 0, CCS_DATA_NULL, 0, 2, from.data(), size) == CCS_SUCCESS);
    for (int i = 0; i < 20; ++i) {
      uint64_t value = static_cast<uint64_t>(round);
      REQUIRE(CCS_amrequest(counting, j.next(), nullptr, 0, CCS_DATA_NULL, 0, 1, i) == CCS_SUCCESS);
      REQUIRE(CCS_put(j.next(), &value, 8, CCS_DATA8, w.of(j.next()) + 8 * i, 8, CCS_DATA8, count_up, &puts) ==
              CCS_SUCCESS);
      poll_until([&] { return puts == round * 20 + i + 1; });  // `value` must exist until the put has completed
    }
    poll_until([&] { return rendezvous.released == round + 1 && rendezvous.received == round + 1; });
    bool right = true;
    for (size_t i = 0; i < size; ++i)
      right &= rendezvous.to[i] == static_cast<unsigned char>(i + static_cast<size_t>(round) + j.previous());
    REQUIRE(right);
    everywhere();
  }
  CHECK(counted == rounds * 190);
  uint64_t last = 0;
  std::memcpy(&last, w.mine() + 8 * 19, 8);
  CHECK(last == rounds - 1);
  REQUIRE(CCS_deregister_mem(from.data(), size) == CCS_SUCCESS);
}
