// Misuses ARMCI, or loses a process, in the way that the first argument names. The tests check what happens.
#include <armci.h>
#include <armcix.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

std::vector<void*> bases;
char local[64];
double one = 1;
int me() { return armci_msg_me(); }
int n() { return armci_msg_nproc(); }
void* there(int proc) { return bases[static_cast<size_t>(proc)]; }

void start(int mutexes = -1) {
  ARMCI_Init();
  bases.resize(static_cast<size_t>(n()));
  ARMCI_Malloc(bases.data(), 100000);
  if (mutexes >= 0) ARMCI_Create_mutexes(mutexes);
  ARMCI_Barrier();
}
/// Ends without a word, as a process that is killed. lcirun ends no job for exit status 0.
[[noreturn]] void die() { _exit(0); }
/// A process that makes no call while the others go on.
[[noreturn]] void stand_by() {
  sleep(3);
  _exit(0);
}
/// The rest of rank 0, once the last rank has died.
void report(const char* what, int result) {
  std::printf("%s: %d\n", what, result);
  std::fflush(stdout);
  _exit(0);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Rank 0 repeats an operation that needs the last rank, which dies meanwhile and holds a mutex of its own. The
/// operation has to end with a code, or the job with a text, and the last call must not take long. If `all_take_part`,
/// every process but the last does the same, and lives on when it knows of the death.
void until_death(const char* name, const std::function<int(int last)>& operation, bool all_take_part) {
  start(1);
  const int last = n() - 1;
  if (me() == last) ARMCI_Lock(0, last);
  ARMCI_Barrier();
  if (me() == last) {
    usleep(200000);
    die();
  }
  if (me() != 0 && !all_take_part) stand_by();
  const double begin = now();
  int rc = 0;
  double took = 0;
  while (rc == 0 && now() - begin < 10) {
    const double call = now();
    rc = operation(last);
    took = now() - call;
  }
  std::printf("%s: %d %s\n", name, rc, took < 1 ? "soon" : "late");
  std::fflush(stdout);
  if (all_take_part) sleep(3);
  _exit(0);
}
armci_giov_t segment(void* from, void* to) {
  static void *src, *dst;
  src = from;
  dst = to;
  armci_giov_t v{};
  v.src_ptr_array = &src;
  v.dst_ptr_array = &dst;
  v.bytes = 8;
  v.ptr_array_len = 1;
  return v;
}
/// The group of all processes.
ARMCI_Group* world() {
  static ARMCI_Group all;
  ARMCI_Group_get_world(&all);
  return &all;
}
char plus[] = "+";
double large[4000];
int stride[] = {16}, count[] = {8, 4}, negative[] = {8, -4};

/// Operations that wait for another host. The name of an operation without a result ends with an exclamation mark.
const std::map<std::string, std::function<int(int last)>> waits = {
    {"get", [](int p) { return ARMCI_Get(there(p), local, 8, p); }},
    {"gets", [](int p) { return ARMCI_GetS(there(p), stride, local, stride, count, 1, p); }},
    {"getv",
     [](int p) {
       armci_giov_t v = segment(there(p), local);
       return ARMCI_GetV(&v, 1, p);
     }},
    {"nbget wait",
     [](int p) {
       armci_hdl_t h = 0;
       const int rc = ARMCI_NbGet(there(p), local, 8, p, &h);
       return rc != 0 ? rc : ARMCI_Wait(&h);
     }},
    {"nbget test",
     [](int p) {
       armci_hdl_t h = 0;
       int rc = ARMCI_NbGet(there(p), local, 8, p, &h);
       if (rc == 0)
         while ((rc = ARMCI_Test(&h)) == 1) {
         }
       return rc;
     }},
    {"nbget waitall",
     [](int p) {
       const int rc = ARMCI_NbGet(there(p), local, 8, p, nullptr);
       return rc != 0 ? rc : ARMCI_WaitAll();
     }},
    {"nbget waitproc waitall",
     [](int p) {
       const int rc = ARMCI_NbGet(there(p), local, 8, p, nullptr);
       const int first = rc != 0 ? rc : ARMCI_WaitProc(p);
       if (rc == 0 && first != 0 && (ARMCI_WaitAll() != 0 || ARMCI_WaitProc(p) != 0)) report("reported again", 9);
       return first;
     }},
    {"nbget waitall waitproc",
     [](int p) {
       const int rc = ARMCI_NbGet(there(p), local, 8, p, nullptr);
       const int first = rc != 0 ? rc : ARMCI_WaitAll();
       if (rc == 0 && first != 0 && (ARMCI_WaitProc(p) != 0 || ARMCI_WaitAll() != 0)) report("reported again", 9);
       return first;
     }},
    {"nbget waitproc",
     [](int p) {
       const int rc = ARMCI_NbGet(there(p), local, 8, p, nullptr);
       return rc != 0 ? rc : ARMCI_WaitProc(p);
     }},
    {"put fence",
     [](int p) {
       const int rc = ARMCI_Put(local, there(p), 8, p);
       return rc != 0 ? rc : ARMCI_Fence(p);
     }},
    {"acc allfence",
     [](int p) {
       const int rc = ARMCI_Acc(ARMCI_ACC_DBL, &one, local, there(p), 8, p);
       return rc != 0 ? rc : ARMCI_AllFence();
     }},
    {"rmw",
     [](int p) {
       long old;
       return ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, there(p), 1, p);
     }},
    {"malloc",
     [](int) {
       std::vector<void*> all(static_cast<size_t>(n()));
       return ARMCI_Malloc(all.data(), 100);
     }},
    {"free", [](int) { return ARMCI_Free(there(0)); }},
    {"destroy mutexes", [](int) { return ARMCI_Destroy_mutexes(); }},
    {"get value!", [](int p) { return 0 * ARMCI_GetValueInt(there(p), p); }},
    {"lock!",
     [](int p) {
       ARMCI_Lock(0, p);
       return 0;
     }},
    {"barrier!",
     [](int) {
       ARMCI_Barrier();
       return 0;
     }},
    {"receive!",
     [](int p) {
       armci_msg_rcv(7, local, 8, nullptr, p);
       return 0;
     }},
    {"receive from any!",
     [](int) {
       armci_msg_rcvany(7, local, 8, nullptr);
       return 0;
     }},
    {"broadcast!",
     [](int p) {
       armci_msg_bcast(local, 8, p);
       return 0;
     }},
    {"sum!",
     [](int) {
       armci_msg_dgop(&one, 1, plus);
       return 0;
     }},
    {"accs allfence",
     [](int p) {
       const int rc = ARMCI_AccS(ARMCI_ACC_DBL, &one, local, stride, there(p), stride, count, 1, p);
       return rc != 0 ? rc : ARMCI_AllFence();
     }},
    {"accv fence",
     [](int p) {
       armci_giov_t v = segment(local, there(p));
       const int rc = ARMCI_AccV(ARMCI_ACC_DBL, &one, &v, 1, p);
       return rc != 0 ? rc : ARMCI_Fence(p);
     }},
    {"large accs",
     [](int p) {
       int rows[] = {8, 2000};
       const int rc = ARMCI_AccS(ARMCI_ACC_DBL, &one, large, stride, there(p), stride, rows, 1, p);
       return rc != 0 ? rc : ARMCI_Fence(p);
     }},
    {"large puts and gets",
     [](int p) {
       int rows[] = {8, 2000};
       const int rc = ARMCI_PutS(large, stride, there(p), stride, rows, 1, p);
       return rc != 0 ? rc : ARMCI_GetS(there(p), stride, large, stride, rows, 1, p);
     }},
    {"nbaccs wait fence",
     [](int p) {
       armci_hdl_t h = 0;
       int rc = ARMCI_NbAccS(ARMCI_ACC_DBL, &one, local, stride, there(p), stride, count, 1, p, &h);
       if (rc == 0) rc = ARMCI_Wait(&h);
       return rc != 0 ? rc : ARMCI_Fence(p);
     }},
    {"malloc group",
     [](int) {
       std::vector<void*> all(static_cast<size_t>(n()));
       return ARMCI_Malloc_group(all.data(), 100, world());
     }},
    {"free group", [](int) { return ARMCI_Free_group(there(0), world()); }},
    {"destroy mutexes of a group!",
     [](int) { return ARMCIX_Destroy_mutexes_hdl(ARMCIX_Create_mutexes_hdl(1, world())); }},
    {"create group!",
     [](int last) {
       int pids[] = {0, 1, 2, 3};
       ARMCI_Group g;
       ARMCI_Group_create(last + 1, pids, &g);
       armci_msg_group_barrier(&g);
       return 0;
     }},
    {"split",
     [](int) {
       ARMCI_Group g;
       return ARMCIX_Group_split(world(), 0, 0, &g);
     }},
    {"group barrier!",
     [](int) {
       armci_msg_group_barrier(world());
       return 0;
     }},
    {"group sum!",
     [](int) {
       armci_msg_group_dgop(&one, 1, plus, world());
       return 0;
     }},
    {"group broadcast!",
     [](int last) {
       armci_msg_group_bcast_scope(SCOPE_ALL, local, 8, last, world());
       return 0;
     }},
    {"large sum!",
     [](int) {
       armci_msg_dgop(large, 4000, plus);
       return 0;
     }},
    {"reduce!",
     [](int) {
       armci_msg_reduce(&one, 1, plus, ARMCI_DOUBLE);
       return 0;
     }},
    {"select!",
     [](int) {
       char max[] = "max";
       armci_msg_sel(local, 64, max, ARMCI_DOUBLE, 1);
       return 0;
     }},
    {"exchange addresses!",
     [](int) {
       void* all[2] = {};
       armci_exchange_address(all, 2);
       return 0;
     }},
    {"notify wait!",
     [](int p) {
       int value;
       armci_notify_wait(p, &value);
       return 0;
     }},
};

/// With a small heap: what a failed allocation had got at some ranks must be free again.
void failed_allocations() {
  start();
  std::vector<void*> p(static_cast<size_t>(n()));
  int failures = 0;
  for (int i = 0; i < 20; ++i)
    failures += ARMCI_Malloc(p.data(), me() == n() - 1 ? armci_size_t{1} << 40 : 20 << 20) != 0 ? 1 : 0;
  const int rc = ARMCI_Malloc(p.data(), 20 << 20);
  armci_msg_barrier();
  std::printf("%d failures, then %d\n", failures, rc);
  ARMCI_Finalize();
  std::exit(0);
}

/// All threads meet first, so that several are in ARMCI_Error at once.
void error_of_threads() {
  start();
  constexpr int n_threads = 4;
  std::atomic<int> here{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < n_threads; ++t)
    threads.emplace_back([&, t] {
      for (++here; here < n_threads;) std::this_thread::yield();
      ARMCI_Error("a thread's own reason", 40 + t);
    });
  for (auto& t : threads) t.join();
}

const std::map<std::string, std::function<void()>> cases = {
    {"no init put", [] { std::exit(ARMCI_Put(local, local, 8, 0) == -6 ? 3 : 4); }},
    {"init", [] { std::exit(ARMCI_Init() == -6 ? 3 : 4); }},
    {"no init barrier", [] { ARMCI_Barrier(); }},
    {"no init group", [] { ARMCI_Group_get_world(nullptr); }},
    {"type", [] { start(), ARMCI_Acc(9, &one, local, there(0), 8, 0); }},
    {"type negative", [] { start(), ARMCI_AccS(-1, &one, local, nullptr, there(0), nullptr, new int(8), 0, 0); }},
    {"op", [] { start(), ARMCI_Rmw(12, local, there(0), 1, 0); }},
    {"mutex none", [] { start(), ARMCI_Lock(0, 0); }},
    {"mutex number", [] { start(2), ARMCI_Lock(2, 0); }},
    {"mutex proc", [] { start(2), ARMCI_Unlock(0, 99); }},
    {"mutex free", [] { start(2), ARMCI_Unlock(0, 0); }},
    {"mutex twice", [] { start(2), ARMCI_Create_mutexes(1); }},
    {"mutex destroy", [] { start(), ARMCI_Destroy_mutexes(); }},
    {"group",
     [] {
       ARMCI_Group g{};
       start(), armci_msg_group_barrier(&g);
     }},
    {"group pid",
     [] {
       ARMCI_Group g{};
       int pid = 7;
       start(), ARMCI_Group_create(1, &pid, &g);
     }},
    {"group twice",
     [] {
       ARMCI_Group g{};
       int pids[] = {0, 0};
       start(), ARMCI_Group_create(2, pids, &g);
     }},
    {"split null",
     [] {
       ARMCI_Group world;
       start(), ARMCI_Group_get_world(&world), ARMCIX_Group_split(&world, 0, 0, nullptr);
     }},
    {"dup null",
     [] {
       ARMCI_Group world;
       start(), ARMCI_Group_get_world(&world), ARMCIX_Group_dup(&world, nullptr);
     }},
    {"group gop null",
     [] {
       ARMCI_Group world;
       start(), ARMCI_Group_get_world(&world);
       armci_msg_group_igop(nullptr, 1, const_cast<char*>("+"), &world);
     }},
    {"set null", [] { start(), ARMCIX_Lock_hdl(nullptr, 0, 0); }},
    {"set invented", [] { start(), ARMCIX_Trylock_hdl(reinterpret_cast<armcix_mutex_hdl_t>(local), 0, 0); }},
    {"set destroyed",
     [] {
       ARMCI_Group world;
       start(), ARMCI_Group_get_world(&world);
       const armcix_mutex_hdl_t ended = ARMCIX_Create_mutexes_hdl(1, &world);
       if (ARMCIX_Destroy_mutexes_hdl(ended) != 0) std::exit(4);
       ARMCIX_Create_mutexes_hdl(1, &world);
       ARMCIX_Destroy_mutexes_hdl(ended);
     }},
    {"gop", [] { start(), armci_msg_gop_scope(SCOPE_ALL, &one, 1, const_cast<char*>("^"), ARMCI_DOUBLE); }},
    {"gop type", [] { start(), armci_msg_gop_scope(SCOPE_ALL, &one, 1, const_cast<char*>("+"), 17); }},
    {"scope", [] { start(), armci_msg_bcast_scope(9, &one, 8, 0); }},
    {"root", [] { start(), armci_msg_bcast(&one, 8, 5); }},
    {"send", [] { start(), armci_msg_snd(1, local, 4, 5); }},
    {"receive short", [] { start(), armci_msg_snd(1, local, 8, 0), armci_msg_rcv(1, local, 4, nullptr, 0); }},
    {"lock memory twice", [] { start(), armci_lockmem(local, local, 0), armci_lockmem(local, local, 0); }},
    {"lock memory backwards", [] { start(), armci_lockmem(local + 1, local, 0); }},
    {"lock memory far", [] { start(), armci_lockmem(there(1 - me()), there(1 - me()), 1 - me()); }},
    {"unlock memory", [] { start(), armci_unlockmem(); }},
    {"unlock memory late", [] { start(), armci_lockmem(local, local, 0), ARMCI_Finalize(), armci_unlockmem(); }},
    {"pack levels", [] { armci_write_strided(local, 9, nullptr, nullptr, local); }},
    {"pack count", [] { armci_read_strided(local, 1, stride, negative, local); }},
    {"pack null", [] { armci_write_strided(nullptr, 1, stride, count, local); }},
    {"send null", [] { start(), armci_msg_snd(1, nullptr, 4, 0); }},
    {"broadcast null", [] { start(), armci_msg_bcast(nullptr, 4, 0); }},
    {"gop null", [] { start(), armci_msg_igop(nullptr, 1, const_cast<char*>("+")); }},
    {"tree null", [] { start(), armci_msg_bintree(SCOPE_ALL, nullptr, nullptr, nullptr, nullptr); }},
    {"world null", [] { start(), ARMCI_Group_get_world(nullptr); }},
    {"malloc negative", [] { start(), std::exit(ARMCI_Malloc(bases.data(), -5) == -6 ? 3 : 4); }},
    {"put size", [] { start(), std::exit(-ARMCI_Put(local, there(0), -4, 0)); }},
    {"puts size", [] { start(), std::exit(-ARMCI_PutS(local, stride, there(0), stride, negative + 1, 0, 0)); }},
    {"nbgets size", [] { start(), std::exit(-ARMCI_NbGetS(there(0), stride, local, stride, negative + 1, 0, 0, {})); }},
    {"accs size", [] { start(), std::exit(-ARMCI_AccS(ARMCI_ACC_DBL, &one, local, {}, local, {}, count + 1, 0, 0)); }},
    {"error of threads", error_of_threads},
    {"error", [] { start(), ARMCI_Error("the program's own reason", 7); }},

    // The last of several processes dies; rank 0 waits for it.
    {"dead get",
     [] {
       start();
       if (me() == n() - 1) die();
       if (me() != 0) _exit(0);
       int rc = 0;
       for (int i = 0; i < 1000 && rc == 0; ++i) rc = ARMCI_Get(there(n() - 1), local, 8, n() - 1), usleep(10000);
       report("get", rc);
     }},
    {"dead fence",
     [] {
       start();
       if (me() == n() - 1) die();
       if (me() != 0) _exit(0);
       int rc = 0;
       for (int i = 0; i < 1000 && rc == 0; ++i) {
         rc = ARMCI_Put(local, there(n() - 1), 8, n() - 1);
         if (rc == 0) rc = ARMCI_Fence(n() - 1);
         usleep(10000);
       }
       report("fence", rc);
     }},
    {"dead barrier",
     [] {
       start();
       if (me() == n() - 1) die();
       armci_msg_barrier();
     }},
    {"dead holder",
     [] {
       start(1);
       if (me() == n() - 1) {
         ARMCI_Lock(0, 0);
         ARMCI_PutValueInt(1, there(0), 0);
         ARMCI_Fence(0);
         die();
       }
       if (me() != 0) {
         stand_by();
       }
       while (ARMCI_GetValueInt(there(0), 0) != 1) usleep(1000);
       ARMCI_Lock(0, 0);
       ARMCI_Unlock(0, 0);
       report("lock", 0);
     }},
    {"dead owner's holder",
     [] {  // the mutex is of another process than who waits, and than who has died
       start(1);
       if (me() == 2) {
         ARMCI_Lock(0, 1);
         ARMCI_PutValueInt(1, there(0), 0);
         ARMCI_Fence(0);
         die();
       }
       if (me() == 1) {
         stand_by();
       }
       while (ARMCI_GetValueInt(there(0), 0) != 1) usleep(1000);
       ARMCI_Lock(0, 1);
       ARMCI_Unlock(0, 1);
       report("lock", 0);
     }},
    {"dead allocations", failed_allocations},
    {"dead adder",
     [] {  // killed at any point of an accumulate, also with a stripe's lock held
       start();
       std::vector<double> many(10000, 1);
       if (me() == n() - 1) {
         alarm(1);
         while (true) ARMCI_Acc(ARMCI_ACC_DBL, &one, many.data(), there(0), 80000, 0);
       }
       if (me() != 0) _exit(0);
       sleep(2);
       report("accumulate", ARMCI_Acc(ARMCI_ACC_DBL, &one, many.data(), there(0), 80000, 0));
     }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "dies in") == 0) {
    until_death(argv[2], waits.at(argv[2]), argc > 3);
    return 5;
  }
  const auto found = cases.find(argc > 1 ? argv[1] : "");
  if (found == cases.end()) {
    for (const auto& [name, unused] : cases) std::printf("%s\n", name.c_str());
    for (const auto& [name, unused] : waits) std::printf("dead in %s\n", name.c_str());
    return 0;
  }
  found->second();
  std::printf("it went on\n");
  return 5;
}
