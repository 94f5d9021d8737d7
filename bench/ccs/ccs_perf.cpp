// Measures CCS between two processes, beside the core in the same processes, and beside loops written by hand. Process
// 0 prints a line for each figure: its name, the median of some rounds, a unit.
//
//   lcirun -n 2 ccs_perf [messages] [memory] [descriptions] [registration] [figures]
#include <ccs.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

int me = 0;
CCS_node_t other = 0;
CCS_context_t context = 0;
lci::rcomp_t core_handler = 0;
lci::rmr_t core_window;  // process 1's window
/// The number of handled messages, and the number that a benchmark waits for. Both count from the program's start.
struct counter {
  volatile long handled = 0;
  long expected = 0;
  void add() { handled = handled + 1; }
};
counter ccs_messages, core_messages;
volatile long completed = 0;
unsigned char* window = nullptr;  // symmetric
constexpr size_t room = 4 << 20;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "ccs_perf: %s\n", what);
  std::exit(1);
}
void check(int result) { check(result == CCS_SUCCESS, "a call of CCS"); }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Reads a byte of each cache line of the data, as the core's benchmark does.
void on_none(CCS_token_t, void* data, unsigned size) {
  for (unsigned i = 0; i < size; i += 64) (void)static_cast<const volatile unsigned char*>(data)[i];
  ccs_messages.add();
}
void on_four(CCS_token_t, void*, unsigned, long a, long b, long c, void* d) {
  check(a + b + c == 6 && d == window, "the arguments of a message");
  ccs_messages.add();
}
void on_completion(void*) { completed = completed + 1; }

/// Collective, with the same n. Times rounds of n operations; process 0 prints the median time divided by n.
template <class F>
void measure(const std::string& name, long n, double scale, const char* unit, F f) {
  std::vector<double> times;
  f(std::max(n / 10, 1L));
  for (int round = 0; round < 9; ++round) {
    check(CCS_barrier());
    const double begun = now();
    f(n);
    times.push_back((now() - begun) / static_cast<double>(n));
  }
  std::sort(times.begin(), times.end());
  const double seconds = times[times.size() / 2];
  if (me == 0) std::printf("%s: %.4g %s\n", name.c_str(), scale < 0 ? -scale / seconds : scale * seconds, unit);
}

template <class Send>
void ping_pong(long n, counter& count, Send send, void (*poll)()) {
  for (long i = 0; i < n; ++i) {
    if (me == 0) send();
    ++count.expected;
    while (count.handled < count.expected) poll();
    if (me == 1) send();
  }
}
void send_none() { check(CCS_amrequest(context, other, nullptr, 0, CCS_DATA_NULL, 0, 0)); }
void send_four() { check(CCS_amrequest(context, other, nullptr, 0, CCS_DATA_NULL, 1, 4, 1L, 2L, 3L, window)); }
template <size_t size>
void send_core() {
  static const char data[size > 0 ? size : 1] = {};
  while (lci::post_am(static_cast<int>(other), data, size, lci::COMP_NULL_RETRY, core_handler).is_retry())
    lci::progress();
}
void core_poll() { (void)lci::progress(); }

/// Process 0 sends n messages; process 1 replies to the last.
template <class Send>
void flood(long n, counter& count, Send send, void (*poll)()) {
  count.expected += me == 0 ? 1 : n;
  if (me == 0)
    for (long i = 0; i < n; ++i) send();
  while (count.handled < count.expected) poll();
  if (me == 1) send();
}

void messages() {
  measure("am latency, 0 arguments", 20000, 5e8, "ns", [](long n) { ping_pong(n, ccs_messages, send_none, CCS_poll); });
  measure("am latency, 4 arguments", 20000, 5e8, "ns", [](long n) { ping_pong(n, ccs_messages, send_four, CCS_poll); });
  measure("core am latency, 0 bytes", 20000, 5e8, "ns",
          [](long n) { ping_pong(n, core_messages, send_core<0>, core_poll); });
  measure("core am latency, 32 bytes", 20000, 5e8, "ns",
          [](long n) { ping_pong(n, core_messages, send_core<32>, core_poll); });
  measure("am rate, 0 arguments", 200000, -1e-6, "M/s", [](long n) { flood(n, ccs_messages, send_none, CCS_poll); });
  measure("am rate, 4 arguments", 200000, -1e-6, "M/s", [](long n) { flood(n, ccs_messages, send_four, CCS_poll); });
  measure("core am rate, 0 bytes", 200000, -1e-6, "M/s",
          [](long n) { flood(n, core_messages, send_core<0>, core_poll); });
  measure("core am rate, 32 bytes", 200000, -1e-6, "M/s",
          [](long n) { flood(n, core_messages, send_core<32>, core_poll); });
}

/// One operation at a time, by process 0, while process 1 waits in a barrier.
template <class Begin>
void one_by_one(long n, Begin begin) {
  if (me != 0) return;
  for (long i = 0; i < n; ++i) {
    const long before = completed;
    begin();
    while (completed == before) CCS_poll();
  }
}
template <class Begin>
void core_one_by_one(long n, Begin begin) {
  if (me != 0) return;
  lci::comp_t done = lci::alloc_sync();
  for (long i = 0; i < n; ++i)
    if (begin(done).is_posted()) lci::sync_wait(done, nullptr);
  lci::free_comp(&done);
}

using move_function = decltype(&CCS_put);
void move(move_function f, void* src, size_t src_n, CCS_datadesc_t src_desc, void* dest, size_t dest_n,
          CCS_datadesc_t dest_desc) {
  check(f(1, src, src_n, src_desc, dest, dest_n, dest_desc, on_completion, nullptr));
}

void remote_memory() {
  // Page-aligned, like the memory at process 1: on AMD EPYC the kernel copies to other addresses at a quarter of the
  // rate.
  alignas(4096) static unsigned char here[room];
  std::memset(here, 1, room);
  for (const size_t size : {size_t{8}, size_t{1024}, size_t{8192}, size_t{65536}, size_t{1} << 20, size_t{4} << 20}) {
    const long n = size <= 8192 ? 20000 : static_cast<long>((size_t{400} << 20) / size / 8);
    const std::string text = std::to_string(size);
    const bool small = size == 8;
    const double scale = small ? 1e9 : -1e-6 * static_cast<double>(size);
    const char* const unit = small ? "ns" : "MB/s";
    measure("put " + text, n, scale, unit,
            [&](long k) { one_by_one(k, [&] { move(CCS_put, here, size, CCS_DATA8, window, size, CCS_DATA8); }); });
    measure("core put " + text, n, scale, unit, [&](long k) {
      core_one_by_one(k, [&](lci::comp_t done) {
        return lci::post_put_x(1, here, size, done, 0, core_window)
            .comp_semantic(lci::comp_semantic_t::remote)
            .allow_retry(false)();
      });
    });
    measure("get " + text, n, scale, unit,
            [&](long k) { one_by_one(k, [&] { move(CCS_get, window, size, CCS_DATA8, here, size, CCS_DATA8); }); });
    measure("core get " + text, n, scale, unit, [&](long k) {
      core_one_by_one(k, [&](lci::comp_t done) {
        return lci::post_get_x(1, here, size, done, 0, core_window).allow_retry(false)();
      });
    });
  }
}

/// Puts non-contiguous runs to contiguous memory: by a description, and by a loop that packs them into a buffer to put.
struct runs {
  const char* name;
  CCS_datadesc_t desc;
  std::vector<size_t> begins;
  size_t each;
};

void described(const runs& r) {
  static std::vector<unsigned char> here(room, 1), packed(room);
  const size_t size = r.begins.size() * r.each;
  check(static_cast<size_t>(CCS_datadesc_size(r.desc)) == size, "the size of a description");
  const std::string name = r.name;
  measure(name + ", put", 500, -1e-6 * static_cast<double>(size), "MB/s",
          [&](long k) { one_by_one(k, [&] { move(CCS_put, here.data(), 1, r.desc, window, size, CCS_DATA8); }); });
  measure(name + ", loop and put", 500, -1e-6 * static_cast<double>(size), "MB/s", [&](long k) {
    one_by_one(k, [&] {
      unsigned char* to = packed.data();
      // The compiler knows the size of a run, as in a program's own loop.
      if (r.each == 8)
        for (const size_t at : r.begins) std::memcpy(to, here.data() + at, 8), to += 8;
      else if (r.each == 24)
        for (const size_t at : r.begins) std::memcpy(to, here.data() + at, 24), to += 24;
      else
        for (const size_t at : r.begins) std::memcpy(to, here.data() + at, 64), to += 64;
      move(CCS_put, packed.data(), size, CCS_DATA8, window, size, CCS_DATA8);
    });
  });
}

void descriptions() {
  runs vector{"vector of 1024 x 64", 0, {}, 64}, indexed{"indexed 10000 x 8", 0, {}, 8},
      structs{"struct of structs", 0, {}, 24};
  check(CCS_datadesc_create_vector(1024, 64, 192, CCS_DATA8, &vector.desc));
  for (size_t i = 0; i < 1024; ++i) vector.begins.push_back(192 * i);
  std::vector<size_t> places(100000);
  std::iota(places.begin(), places.end(), size_t{0});
  std::shuffle(places.begin(), places.end(), std::mt19937_64(1));
  std::vector<CCS_aint_t> at;
  for (size_t i = 0; i < 10000; ++i) {
    indexed.begins.push_back(16 * places[i]);
    at.push_back(static_cast<CCS_aint_t>(16 * places[i]));
  }
  check(CCS_datadesc_create_blockindexed(10000, 1, at.data(), CCS_DATA64, &indexed.desc));
  // Bytes 0-23 and 48-71 of a record of 96 bytes, as a struct; two of these structs in another struct; 2000 times.
  int ones[] = {1, 1, 1};
  CCS_aint_t inner_at[] = {0, 8, 16}, outer_at[] = {0, 48, 96};
  CCS_datadesc_t words[] = {CCS_DATA64, CCS_DATA64, CCS_DATA64}, inner = 0, outer = 0;
  check(CCS_datadesc_create_struct(3, ones, inner_at, words, &inner));
  CCS_datadesc_t members[] = {inner, inner, CCS_DATA_UB};
  check(CCS_datadesc_create_struct(3, ones, outer_at, members, &outer));
  check(CCS_datadesc_create_contiguous(2000, outer, &structs.desc));
  for (size_t i = 0; i < 4000; ++i) structs.begins.push_back(48 * i);
  for (const runs* r : {&vector, &indexed, &structs}) described(*r);
}

void registration() {
  static std::vector<char> memory(1 << 20);
  measure("register and deregister", 100000, 1e9, "ns", [](long n) {
    for (long i = 0; i < n; ++i) {
      check(CCS_register_mem(memory.data(), memory.size()));
      check(CCS_deregister_mem(memory.data(), memory.size()));
    }
  });
}

/// The measurements of the paper's Fig. 2 and Fig. 3: the latency of active messages, and the bandwidth of overlapping
/// puts to memory that processes of the host share. Page-aligned, as the memory that the other programs measure with.
void figures() {
  constexpr size_t largest = size_t{2} << 20, page = 4096;
  alignas(page) static unsigned char here[largest];
  std::memset(here, 1, largest);
  std::vector<size_t> lengths = {CCS_MAX_AM_LENGTH};
  for (size_t size = 8; size < CCS_MAX_AM_LENGTH; size *= 4) lengths.push_back(size);
  std::sort(lengths.begin(), lengths.end());
  for (const size_t size : lengths)
    measure("latency " + std::to_string(size), 2000, 5e8, "ns", [size](long n) {
      ping_pong(
          n, ccs_messages,
          [size] { check(CCS_amrequest(context, other, here, static_cast<unsigned>(size), CCS_DATA8, 0, 0)); },
          CCS_poll);
    });
  void* const allocated = CCS_malloc(largest + page);
  check(allocated != nullptr, "no memory");
  auto* const mine = static_cast<unsigned char*>(allocated) + page - reinterpret_cast<uintptr_t>(allocated) % page;
  std::memset(mine, 0, largest);
  check(CCS_register_mem(mine, largest));
  uint64_t theirs = me == 1 ? reinterpret_cast<uintptr_t>(mine) : 0;
  check(CCS_bcast(&theirs, 1, CCS_DATA64, 1));
  for (size_t size = 8; size <= largest; size *= 4)
    measure("bandwidth " + std::to_string(size), static_cast<long>(std::min<size_t>(10000, (size_t{64} << 20) / size)),
            -1e-6 * static_cast<double>(size), "MB/s", [&](long n) {
              if (me != 0) return;
              for (long i = 0; i < n; ++i)
                move(CCS_put, here, size, CCS_DATA8, reinterpret_cast<void*>(theirs), size, CCS_DATA8);
              check(CCS_fence(other));
            });
  check(CCS_barrier());
  check(CCS_deregister_mem(mine, largest));
  CCS_free(allocated);
}

}  // namespace

int main(int argc, char** argv) {
  const auto wants = [=](const char* part) {
    return argc == 1 || std::any_of(argv + 1, argv + argc, [=](const char* a) { return std::strcmp(a, part) == 0; });
  };
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  check(CCS_init());
  lci::g_runtime_init();
  me = lci::get_rank_me();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(me % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), &one);
  (void)sched_setaffinity(0, sizeof one, &one);
  check(lci::get_rank_n() == 2, "two processes are needed");
  other = static_cast<CCS_node_t>(1 - me);
  check(CCS_new_context(&context));
  check(CCS_register_handler(context, 0, on_none));
  check(CCS_register_handler(context, 1, on_four));
  lci::comp_t handler = lci::alloc_handler_x([](lci::status_t) { core_messages.add(); }).am_in_place(true)();
  core_handler = lci::register_rcomp(handler);
  void* memory = nullptr;
  check(CCS_malloc_symmetric(room, &memory));
  window = static_cast<unsigned char*>(memory);
  std::memset(window, 0, room);
  alignas(4096) static unsigned char core_memory[room];
  lci::mr_t mr = lci::register_memory(core_memory, room);
  const lci::rmr_t mine = lci::get_rmr(mr);
  lci::rmr_t all[2];
  lci::allgather(&mine, all, sizeof mine);
  core_window = all[1];
  check(CCS_barrier());
  if (wants("messages")) messages();
  if (wants("memory")) remote_memory();
  if (wants("descriptions")) descriptions();
  if (wants("registration")) registration();
  if (wants("figures")) figures();
  check(CCS_barrier());  // until then, process 1 makes the progress of CCS that puts over some networks need
  lci::barrier();
  lci::deregister_memory(&mr);
  lci::free_comp(&handler);
  lci::g_runtime_fina();
  check(CCS_free_symmetric(memory));
  check(CCS_finalize());
  return 0;
}
