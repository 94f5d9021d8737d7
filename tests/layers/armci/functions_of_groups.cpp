// Mutexes, groups, messages, collective operations and packing.
#include <armci.h>
#include <armcix.h>
#include <iterator.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>

#include "tests/layers/armci/functions.hpp"

namespace armci_test {

namespace {

/// A thread that locks a mutex twice keeps the other threads out until it has unlocked it twice.
void other_threads_wait() {
  ARMCI_Lock(0, 0);
  ARMCI_Lock(0, 0);
  std::atomic<bool> got{false};
  std::thread other([&] {
    ARMCI_Lock(0, 0);
    got = true;
    ARMCI_Unlock(0, 0);
  });
  ARMCI_Unlock(0, 0);
  usleep(20000);
  EXPECT(!got);
  ARMCI_Unlock(0, 0);
  other.join();
  EXPECT(got);
}

}  // namespace

void mutexes() {
  auto p = allocate<long>(2);
  EXPECT_EQ(ARMCI_Create_mutexes(me == 0 ? 3 : 1), 0);
  for (int i = 0; i < 200; ++i) {
    const int owner = i % n;
    ARMCI_Lock(0, owner);
    long value = 0;
    ARMCI_Get(p[static_cast<size_t>(owner)], &value, 8, owner);
    ++value;
    ARMCI_Put(&value, p[static_cast<size_t>(owner)], 8, owner);  // before the unlock: the next sees it
    ARMCI_Unlock(0, owner);
  }
  ARMCI_Lock(2, 0);
  if (n == 1) ARMCI_Lock(2, 0);  // which returns at once in a job of one process
  ARMCI_Unlock(2, 0);
  if (n == 1) ARMCI_Unlock(2, 0);
  if (n == 1) other_threads_wait();
  ARMCI_Barrier();
  long sum = *p[static_cast<size_t>(me)];
  char plus[] = "+";
  armci_msg_lgop(&sum, 1, plus);
  EXPECT_EQ(sum, 200L * n);
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);
  EXPECT_EQ(ARMCI_Create_mutexes(0), 0);
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);

  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  armcix_mutex_hdl_t hdl = ARMCIX_Create_mutexes_hdl(1, &world);
  ARMCIX_Lock_hdl(hdl, 0, me);
  EXPECT_EQ(ARMCIX_Trylock_hdl(hdl, 0, me), 1);
  ARMCIX_Unlock_hdl(hdl, 0, me);
  EXPECT_EQ(ARMCIX_Trylock_hdl(hdl, 0, me), 0);
  ARMCIX_Unlock_hdl(hdl, 0, me);
  EXPECT_EQ(ARMCIX_Destroy_mutexes_hdl(hdl), 0);

  armci_lockmem(p[static_cast<size_t>(me)], p[static_cast<size_t>(me)] + 1, me);
  armci_unlockmem();
  armci_msg_barrier();
  release(p);
}

namespace {
/// How many successive processes are on each host, so that they map each other's memory. Tests simulate several hosts
/// by LCI_ATTR_RANKS_PER_HOST, or by a namespace of processes for each process: memory is not mapped between
/// namespaces. Collective.
int processes_per_host() {
  struct stat own {};
  EXPECT_EQ(stat("/proc/self/ns/pid", &own), 0);
  std::vector<long> spaces(static_cast<size_t>(n), 0);
  spaces[static_cast<size_t>(me)] = static_cast<long>(own.st_ino);
  char plus[] = "+";
  armci_msg_lgop(spaces.data(), n, plus);
  const auto different = static_cast<int>(std::set<long>(spaces.begin(), spaces.end()).size());
  EXPECT(different == 1 || different == n);  // no test mixes them
  const char* const text = std::getenv("LCI_ATTR_RANKS_PER_HOST");
  return different > 1 ? 1 : text == nullptr ? n : std::atoi(text);
}
}  // namespace

void groups() {
  // Two groups at the same time, each made by its members alone.
  std::vector<int> mine;
  for (int r = me % 2; r < n; r += 2) mine.push_back(r);
  ARMCI_Group g;
  ARMCI_Group_create(static_cast<int>(mine.size()), mine.data(), &g);
  int rank = -1, size = 0;
  EXPECT_EQ(ARMCI_Group_rank(&g, &rank), 0);
  ARMCI_Group_size(&g, &size);
  EXPECT_EQ(rank, me / 2);
  EXPECT_EQ(size, static_cast<int>(mine.size()));
  EXPECT_EQ(ARMCI_Absolute_id(&g, rank), me);
  EXPECT_EQ(ARMCI_Absolute_id(&g, size), -1);
  std::vector<void*> p(mine.size());
  EXPECT_EQ(ARMCI_Malloc_group(p.data(), 80, &g), 0);
  const int next = (rank + 1) % size;
  EXPECT_EQ(ARMCI_PutValueInt(1000 + me, p[static_cast<size_t>(next)], ARMCI_Absolute_id(&g, next)), 0);
  ARMCI_GroupFence(&g);
  armci_msg_group_barrier(&g);
  EXPECT_EQ(*static_cast<int*>(p[static_cast<size_t>(rank)]),
            1000 + mine[static_cast<size_t>((rank + size - 1) % size)]);
  int sum = me, root = me;
  char plus[] = "+";
  armci_msg_group_igop(&sum, 1, plus, &g);
  EXPECT_EQ(sum, std::accumulate(mine.begin(), mine.end(), 0));
  armci_msg_group_bcast_scope(SCOPE_ALL, &root, sizeof root, mine.back(), &g);
  EXPECT_EQ(root, mine.back());
  EXPECT_EQ(ARMCI_Free_group(p[static_cast<size_t>(rank)], &g), 0);
  ARMCI_Group_set_default(&g);
  ARMCI_Group copy, child;
  ARMCI_Group_get_default(&copy);
  int first = 0, rank_in_default = rank;
  ARMCI_Group_create(1, &first, &child);  // ranks of the default group
  EXPECT_EQ(ARMCI_Group_rank(&child, &rank), me < 2 ? 0 : 1);
  if (me >= 2) {
    EXPECT_EQ(rank, -1);
    ARMCI_Group_size(&child, &size);
    EXPECT_EQ(size, 0);
  }
  ARMCI_Group_free(&child);
  // A process that is alone gets what more processes would.
  ARMCI_Group own;
  ARMCI_Group_create(1, &rank_in_default, &own);
  const auto alone = [&](const char* op, int value, int expected) {
    long long x = value;
    armci_msg_group_llgop(&x, 1, const_cast<char*>(op), &own);
    EXPECT_EQ(x, expected);
  };
  for (const char* const op : {"&&", "land", "||", "lor"}) alone(op, -5, 1), alone(op, 0, 0);
  for (const char* const op : {"+", "*", "max", "min", "or", "&", "band", "|", "bor"}) alone(op, -5, -5);
  for (const char* const op : {"absmax", "absmin"}) alone(op, -5, 5);
  // A copy of a variable whose group was freed means no other group.
  ARMCI_Group stale = own;
  ARMCI_Group_free(&own);
  ARMCI_Group_create(1, &rank_in_default, &own);
  EXPECT_EQ(ARMCI_Group_rank(&stale, &rank), 1);
  EXPECT_EQ(ARMCI_Absolute_id(&stale, 0), -1);
  ARMCI_Group_free(&stale);
  EXPECT_EQ(ARMCI_Group_rank(&own, &rank), 0);
  EXPECT_EQ(ARMCI_Absolute_id(&own, 0), me);
  ARMCI_Group_free(&own);
  ARMCI_Group world, split, twin;
  ARMCI_Group_get_world(&world);
  ARMCI_Group_set_default(&world);
  EXPECT_EQ(ARMCIX_Group_split(&world, me / 2, -me, &split), 0);
  ARMCI_Group_size(&split, &size);
  EXPECT_EQ(size, std::min(2, n - me / 2 * 2));
  EXPECT_EQ(ARMCIX_Group_dup(&split, &twin), 0);
  armci_msg_group_barrier(&twin);
  // Mutexes of a group outlive it.
  const armcix_mutex_hdl_t set = ARMCIX_Create_mutexes_hdl(1, &twin), unused = ARMCIX_Create_mutexes_hdl(0, &twin);
  EXPECT_EQ(unused != nullptr && unused != set, true);
  ARMCI_Group_free(&twin);
  ARMCIX_Lock_hdl(set, 0, size - 1);
  ARMCIX_Unlock_hdl(set, 0, size - 1);
  EXPECT_EQ(ARMCIX_Destroy_mutexes_hdl(set), 0);  // `unused` ends with ARMCI
  ARMCI_Group_free(&split);
  ARMCI_Group_free(&g);
  armci_msg_barrier();
}

void domains() {
  // Each host is a domain if all hosts have the same number of processes.
  int per_domain = processes_per_host();
  if (n % per_domain != 0) per_domain = 1;
  const armci_domain_t smp = ARMCI_DOMAIN_SMP;
  const int mine = me / per_domain, first = mine * per_domain;
  EXPECT_EQ(armci_domain_count(smp), n / per_domain);
  EXPECT_EQ(armci_domain_my_id(smp), mine);
  EXPECT_EQ(armci_domain_nprocs(smp, -1), per_domain);
  EXPECT_EQ(armci_domain_nprocs(smp, n / per_domain), 0);
  EXPECT_EQ(armci_domain_id(smp, n), -1);
  EXPECT_EQ(armci_domain_glob_proc_id(smp, mine, per_domain), -1);
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(armci_domain_id(smp, r), r / per_domain);
    EXPECT_EQ(armci_domain_nprocs(smp, r / per_domain), per_domain);
    EXPECT_EQ(armci_domain_glob_proc_id(smp, r / per_domain, r % per_domain), r);
    EXPECT_EQ(armci_domain_same_id(smp, r), r / per_domain == mine ? 1 : 0);
    EXPECT_EQ(ARMCI_Same_node(r), r / per_domain == mine ? 1 : 0);
  }
  // A process can load from memory that another process of its domain has allocated.
  auto words = allocate<int>(1);
  *words[static_cast<size_t>(me)] = 100 + me;
  armci_msg_barrier();
  for (int r = first; r < first + per_domain; ++r) EXPECT_EQ(*words[static_cast<size_t>(r)], 100 + r);
  armci_msg_barrier();
  release(words);
  // Collective operations of a domain's processes, and of the first process of each domain.
  char plus[] = "+";
  int sum = me;
  armci_msg_gop_scope(SCOPE_NODE, &sum, 1, plus, ARMCI_INT);
  EXPECT_EQ(sum, per_domain * first + per_domain * (per_domain - 1) / 2);
  int one = 1;
  armci_msg_gop_scope(SCOPE_MASTERS, &one, 1, plus, ARMCI_INT);
  EXPECT_EQ(one, me == first ? n / per_domain : 1);
  int told = me;
  armci_msg_bcast_scope(SCOPE_NODE, &told, sizeof told, first + per_domain - 1);
  EXPECT_EQ(told, first + per_domain - 1);
  told = me;
  armci_msg_clus_brdcst(&told, sizeof told);
  EXPECT_EQ(told, first);
  int root, up, left, right;
  armci_msg_bintree(SCOPE_NODE, &root, &up, &left, &right);
  EXPECT_EQ(root, first);
  EXPECT_EQ(up, me == first ? -1 : first + (me - first - 1) / 2);
  EXPECT_EQ(left, me == first && per_domain > 1       ? first + 1
                  : 2 * (me - first) + 1 < per_domain ? me + me - first + 1
                                                      : -1);
  armci_msg_bintree(SCOPE_MASTERS, &root, &up, &left, &right);
  EXPECT_EQ(root, 0);
  EXPECT_EQ(left, me == 0 && n > per_domain                      ? per_domain
                  : me == first && 2 * mine + 1 < n / per_domain ? (2 * mine + 1) * per_domain
                                                                 : -1);
  armci_msg_barrier();
}

void messages() {
  std::vector<char> big(200000, static_cast<char>('a' + me)), got(200000);
  int length = 0;
  armci_msg_snd(5, big.data(), 200000, right());
  armci_msg_snd(5, big.data(), 3, right());
  armci_msg_snd(4, big.data(), 2, right());
  armci_msg_rcv(4, got.data(), 10, &length, left());
  EXPECT_EQ(length, 2);
  armci_msg_rcv(5, got.data(), 200000, &length, left());
  EXPECT_EQ(length, 200000);
  EXPECT_EQ(got[199999], static_cast<char>('a' + left()));
  EXPECT_EQ(armci_msg_rcvany(5, got.data(), 10, nullptr), left());

  const auto all = [&](const char* op, auto value, auto expected, auto gop) {
    auto x = value;
    gop(&x, 1, const_cast<char*>(op));
    EXPECT_EQ(x, expected);
  };
  all("+", me + 1, n * (n + 1) / 2, armci_msg_igop);
  all("max", static_cast<long>(me), static_cast<long>(n - 1), armci_msg_lgop);
  all("min", static_cast<long long>(me) - 5, -5LL, armci_msg_llgop);
  all("*", 2.0, std::pow(2.0, n), armci_msg_dgop);
  all("absmax", -1.0F - static_cast<float>(me), static_cast<float>(n), armci_msg_fgop);
  all("absmin", -1 - me, 1, armci_msg_igop);
  all("or", 1 << me, (1 << n) - 1, armci_msg_igop);
  all("&&", 6 - me, 1, armci_msg_igop);
  all("||", me == 0 ? 6L : 0L, 1L, armci_msg_lgop);
  // Only the beginning of `op` counts: Fortran passes it with blanks behind it, and without a terminating 0.
  all("max ", me, n - 1, armci_msg_igop);
  all("absmin  ", -1.0 - me, 1.0, armci_msg_dgop);
  all("+        *", 1.0F, static_cast<float>(n), armci_msg_fgop);
  all("&", 6 | (1 << (4 + me)), n == 1 ? 22 : 6, armci_msg_igop);
  char root[6] = "none";
  if (me == n - 1) std::strcpy(root, "root!");
  armci_msg_brdcst(root, 6, n - 1);
  EXPECT(std::strcmp(root, "root!") == 0);
  struct {
    double key;
    char name[80];
  } record = {static_cast<double>(me == 0 ? 100 : me), ""};
  std::snprintf(record.name, sizeof record.name, "of %d", me);
  char min[] = "min  ";
  armci_msg_sel_scope(SCOPE_ALL, &record, sizeof record, min, ARMCI_DOUBLE, me != 1 || n == 2 ? 1 : 0);
  const std::string winner = "of " + std::to_string(n == 1 ? 0 : n == 2 ? 1 : 2);
  EXPECT(winner == record.name);
  int up, l, r, top;
  armci_msg_bintree(SCOPE_ALL, &top, &up, &l, &r);
  EXPECT_EQ(top, 0);
  EXPECT_EQ(up, me == 0 ? -1 : (me - 1) / 2);
  EXPECT_EQ(l, 2 * me + 1 < n ? 2 * me + 1 : -1);
  std::vector<void*> addresses(static_cast<size_t>(n));
  addresses[static_cast<size_t>(me)] = reinterpret_cast<void*>(static_cast<uintptr_t>(me + 1));
  armci_exchange_address(addresses.data(), n);
  for (int i = 0; i < n; ++i)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(addresses[static_cast<size_t>(i)]), static_cast<uintptr_t>(i + 1));
  EXPECT(armci_timer() > 0);
  double x = me;
  char plus[] = "+";
  armci_msg_reduce(&x, 1, plus, ARMCI_DOUBLE);
  if (me == 0) EXPECT_EQ(x, n * (n - 1) / 2.0);
  armci_msg_barrier();
}

/// One process allocates, all attach and put into it, the creator frees.
void attached_memory() {
  const int per_host = processes_per_host();
  for (int creator = 0; creator < n; ++creator) {
    armci_meminfo_t info{};
    if (me == creator) {
      ARMCI_Memget(8000, &info, 0);
      EXPECT(info.addr != nullptr);
      EXPECT_EQ(info.size, 8000U);
      std::memset(info.addr, 0, 8000);
    }
    armci_msg_bcast(&info, sizeof info, creator);
    EXPECT_EQ(info.cpid, creator);
    auto* const here = static_cast<int*>(ARMCI_Memat(&info, 800));
    EXPECT_EQ(ARMCI_PutValueInt(me + 1, info.armci_addr + 800 + 4 * me, creator), 0);
    ARMCI_Barrier();
    for (int r = 0; r < n; ++r) {
      if (me / per_host == creator / per_host) EXPECT_EQ(here[r], r + 1);
      EXPECT_EQ(ARMCI_GetValueInt(info.armci_addr + 800 + 4 * r, creator), r + 1);
    }
    ARMCI_Memdt(&info, 800);
    ARMCI_Barrier();
    ARMCI_Memctl(&info);
  }
}

void iteration() {
  int a[4][5][6] = {};
  const int strides[] = {sizeof a[0][0], sizeof a[0]}, counts[] = {8, 3, 2};
  stride_info_t it;
  armci_stride_info_init(&it, &a[1][1][2], 2, strides, counts);
  EXPECT_EQ(armci_stride_info_size(&it), 6);
  EXPECT_EQ(armci_stride_info_count(&it), 6);
  for (int i = 0; i < 6; ++i, armci_stride_info_next(&it)) {
    EXPECT(armci_stride_info_has_more(&it));
    EXPECT_EQ(armci_stride_info_pos(&it), i);
    EXPECT_EQ(armci_stride_info_seg_size(&it), 8);
    EXPECT(armci_stride_info_seg_ptr(&it) == &a[1 + i / 3][1 + i % 3][2]);
    EXPECT_EQ(armci_stride_info_seg_off(&it), (i / 3) * strides[1] + (i % 3) * strides[0]);
  }
  EXPECT(!armci_stride_info_has_more(&it));
  armci_stride_info_destroy(&it);
  const int none[] = {8, 0};
  armci_stride_info_init(&it, a, 1, strides, none);
  EXPECT(!armci_stride_info_has_more(&it));
  armci_stride_info_init(&it, a, 0, nullptr, none);
  EXPECT_EQ(armci_stride_info_size(&it), 1);
}

void packing() {
  int a[4][6], copy[4][6] = {};
  for (int i = 0; i < 24; ++i) a[i / 6][i % 6] = i;
  int stride[1] = {sizeof a[0]}, count[2] = {2 * sizeof(int), 3};
  char buffer[24];
  armci_write_strided(&a[1][2], 1, stride, count, buffer);
  armci_read_strided(&copy[0][0], 1, stride, count, buffer);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) EXPECT_EQ(copy[i][j], a[1 + i][2 + j]);
}

namespace {
/// Rank 0 puts to what is no memory of its neighbour's. Returns the code of this process's next collective call that
/// fences: 0, unless the put is far and has returned 0.
int put_nowhere() {
  if (me != 0 || n == 1) return 0;
  long x = 1;
  return ARMCI_Put(&x, reinterpret_cast<void*>(uintptr_t{4096}), sizeof x, right()) == 0 ? -6 : 0;
}
}  // namespace

/// A process reports its earlier wrong operation by a collective call, after it has taken part in that, since the other
/// processes wait for it.
void late_errors() {
  const auto p = allocate<long>(1);
  const int freed = put_nowhere();
  EXPECT_EQ(ARMCI_Free(p[static_cast<size_t>(me)]), freed);
  EXPECT_EQ(ARMCI_Create_mutexes(1), 0);
  const int destroyed = put_nowhere();
  EXPECT_EQ(ARMCI_Destroy_mutexes(), destroyed);
  EXPECT_EQ(ARMCI_Create_mutexes(1), 0);
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);
}

void second_life() {
  EXPECT_EQ(ARMCI_Init(), 0);
  ARMCI_Barrier();
  const int ended = put_nowhere();
  EXPECT_EQ(ARMCI_Finalize(), ended);
  EXPECT_EQ(ARMCI_Initialized(), 0);
  EXPECT_EQ(ARMCI_Finalize(), 0);
}

}  // namespace armci_test
