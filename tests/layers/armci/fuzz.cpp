// Random operations against a sequential model. Each rank has a part of each rank's memory for itself, so that it knows
// what must be there, and all share some more, on which they accumulate and count.
//
//   fuzz OPERATIONS [SEED]
#include <armci.h>

#include <algorithm>

#include "tests/layers/armci/fuzz_model.hpp"

using namespace armci_fuzz;

namespace {

void put_contiguous(world& w, int proc) {
  const size_t n = std::min(some_size(w), part), at = w.up_to(part - n);
  const auto bytes = some_bytes(w, n);
  int rc;
  if (w.up_to(1) == 0) {
    rc = ARMCI_Put(const_cast<char*>(bytes.data()), w.mine(proc) + at, static_cast<int>(n), proc);
  } else {
    armci_hdl_t h;
    rc = ARMCI_NbPut(const_cast<char*>(bytes.data()), w.mine(proc) + at, static_cast<int>(n), proc, &h);
    rc |= ARMCI_Wait(&h);
  }
  EXPECT_EQ(rc, 0);
  std::copy(bytes.begin(), bytes.end(), w.model[static_cast<size_t>(proc)].begin() + static_cast<long>(at));
}

void get_contiguous(world& w, int proc) {
  const size_t n = std::min(some_size(w), part), at = w.up_to(part - n);
  std::vector<char> got(n);
  if (w.up_to(1) == 0) {
    EXPECT_EQ(ARMCI_Get(w.mine(proc) + at, got.data(), static_cast<int>(n), proc), 0);
  } else {
    armci_hdl_t h = 77;
    EXPECT_EQ(ARMCI_NbGet(w.mine(proc) + at, got.data(), static_cast<int>(n), proc, &h), 0);
    // A later put to the same bytes must not be seen by the get.
    std::vector<char> later(std::min<size_t>(n, 100), 'x');
    const char* const m = w.model[static_cast<size_t>(proc)].data() + at;
    const std::vector<char> before(m, m + n);
    EXPECT_EQ(ARMCI_Put(later.data(), w.mine(proc) + at, static_cast<int>(later.size()), proc), 0);
    std::copy(later.begin(), later.end(), w.model[static_cast<size_t>(proc)].begin() + static_cast<long>(at));
    EXPECT_EQ(ARMCI_Wait(&h), 0);
    check("non-blocking get", got.data(), before.data(), n);
    return;
  }
  check("get", got.data(), w.model[static_cast<size_t>(proc)].data() + at, n);
}

void put_section(world& w, int proc) {
  section s = some_section(w, 1 + w.up_to(16));
  if (s.extent_there > part) return;
  const size_t at = w.up_to(part - s.extent_there);
  auto bytes = some_bytes(w, s.extent_here);
  EXPECT_EQ(ARMCI_PutS(bytes.data(), s.here, w.mine(proc) + at, s.there, s.counts, s.levels, proc), 0);
  auto& m = w.model[static_cast<size_t>(proc)];
  each_block(s, [&](size_t there, size_t here) {
    std::memcpy(m.data() + at + there, bytes.data() + here, static_cast<size_t>(s.counts[0]));
  });
}

void get_section(world& w, int proc) {
  section s = some_section(w, 1 + w.up_to(16));
  if (s.extent_there > part) return;
  const size_t at = w.up_to(part - s.extent_there);
  std::vector<char> got(s.extent_here);
  if (w.up_to(1) == 0) {
    EXPECT_EQ(ARMCI_GetS(w.mine(proc) + at, s.there, got.data(), s.here, s.counts, s.levels, proc), 0);
  } else {
    EXPECT_EQ(ARMCI_NbGetS(w.mine(proc) + at, s.there, got.data(), s.here, s.counts, s.levels, proc, nullptr), 0);
    EXPECT_EQ(w.up_to(1) == 0 ? ARMCI_WaitAll() : ARMCI_WaitProc(proc), 0);
  }
  const auto& m = w.model[static_cast<size_t>(proc)];
  each_block(s, [&](size_t there, size_t here) {
    check("strided get", got.data() + here, m.data() + at + there, static_cast<size_t>(s.counts[0]));
  });
}

void vectors(world& w, int proc, bool is_put) {
  const size_t segments = 1 + w.up_to(w.up_to(5) == 0 ? 3000 : 20);
  const size_t bytes = w.up_to(8) == 0 ? 9000 : 1 + w.up_to(40);
  if (segments * bytes * 2 > part) return;
  auto& m = w.model[static_cast<size_t>(proc)];
  auto local = some_bytes(w, segments * bytes);
  const size_t spread = part / segments;
  std::vector<void*> here(segments), there(segments);
  std::vector<size_t> offsets(segments);
  for (size_t i = 0; i < segments; ++i) {
    offsets[i] = i * spread + w.up_to(spread - bytes);
    here[i] = local.data() + i * bytes;
    there[i] = w.mine(proc) + offsets[i];
  }
  armci_giov_t v[2];
  const size_t first = segments / 2 + 1;
  const auto set = [&](armci_giov_t& g, size_t at, size_t n) {
    g.src_ptr_array = (is_put ? here : there).data() + at;
    g.dst_ptr_array = (is_put ? there : here).data() + at;
    g.bytes = static_cast<int>(bytes);
    g.ptr_array_len = static_cast<int>(n);
  };
  set(v[0], 0, first);
  const int sets = first < segments ? 2 : 1;
  if (sets == 2) set(v[1], first, segments - first);
  EXPECT_EQ(is_put ? ARMCI_PutV(v, sets, proc) : ARMCI_GetV(v, sets, proc), 0);
  for (size_t i = 0; i < segments; ++i) {
    if (is_put)
      std::memcpy(m.data() + offsets[i], here[i], bytes);
    else
      check("get of segments", static_cast<char*>(here[i]), m.data() + offsets[i], bytes);
  }
}

/// An accumulate to bytes that only I use: what is there must be what the model adds.
void accumulate_alone(world& w, int proc) {
  section s = some_section(w, 8);
  if (s.extent_there > part) return;
  const size_t at = w.up_to((part - s.extent_there) / 8) * 8;
  std::vector<long> numbers(s.extent_here / 8 + 1);
  for (long& x : numbers) x = static_cast<long>(w.random());
  long scale = static_cast<long>(w.up_to(5)) - 2;
  EXPECT_EQ(
      ARMCI_AccS(ARMCI_ACC_LNG, &scale, numbers.data(), s.here, w.mine(proc) + at, s.there, s.counts, s.levels, proc),
      0);
  auto& m = w.model[static_cast<size_t>(proc)];
  each_block(s, [&](size_t there, size_t here) {
    for (size_t i = 0; i < static_cast<size_t>(s.counts[0]); i += 8) {
      unsigned long x;
      std::memcpy(&x, m.data() + at + there + i, 8);
      x += static_cast<unsigned long>(scale) * static_cast<unsigned long>(numbers[(here + i) / 8]);
      std::memcpy(m.data() + at + there + i, &x, 8);
    }
  });
}

/// Posts a nonblocking accumulate to bytes that no other process accesses.
void add_longs(world& w, int proc, size_t at, size_t bytes) {
  std::vector<long> numbers(bytes / 8);
  for (long& x : numbers) x = static_cast<long>(w.random());
  long scale = 3;
  EXPECT_EQ(
      ARMCI_NbAcc(ARMCI_ACC_LNG, &scale, numbers.data(), w.mine(proc) + at, static_cast<int>(bytes), proc, nullptr), 0);
  char* m = w.model[static_cast<size_t>(proc)].data() + at;
  for (const long x : numbers) {
    unsigned long sum;
    std::memcpy(&sum, m, 8);
    sum += 3 * static_cast<unsigned long>(x);
    std::memcpy(m, &sum, 8);
    m += 8;
  }
}

/// Accumulates in close succession, which the target may queue, then a put and a get, which must not overtake them.
void burst_of_accumulates(world& w, int proc) {
  const size_t bytes = 8 * (1 + w.up_to(6000)), at = w.up_to((part - bytes) / 8) * 8;
  for (size_t i = 2 + w.up_to(8); i > 0; --i) add_longs(w, proc, at, bytes);
  if (w.up_to(2) == 0) {
    const auto over = some_bytes(w, 8);
    EXPECT_EQ(ARMCI_Put(const_cast<char*>(over.data()), w.mine(proc) + at, 8, proc), 0);
    std::memcpy(w.model[static_cast<size_t>(proc)].data() + at, over.data(), 8);
  }
  if (w.up_to(2) == 0) EXPECT_EQ(ARMCI_Fence(proc), 0);
  std::vector<char> got(bytes);
  EXPECT_EQ(ARMCI_Get(w.mine(proc) + at, got.data(), static_cast<int>(bytes), proc), 0);
  check("get after accumulates", got.data(), w.model[static_cast<size_t>(proc)].data() + at, bytes);
}

/// A get that may use RMA, since no request is outstanding, then a change of the memory that it reads.
void large_get(world& w, int proc) {
  EXPECT_EQ(ARMCI_Fence(proc), 0);
  const size_t rows = 1 + w.up_to(w.up_to(1) * 12), row = w.up_to(1) == 0 ? 8192 : 65536 + 8 * w.up_to(4000);
  const size_t there = row + 8 * w.up_to(w.up_to(1) * 20), here = row + 8 * w.up_to(w.up_to(1) * 20);
  if (rows * there > part) return;
  const size_t at = w.up_to((part - rows * there) / 8) * 8;
  std::vector<char> got(rows * here);
  int strides_there = static_cast<int>(there), strides_here = static_cast<int>(here);
  int counts[] = {static_cast<int>(row), static_cast<int>(rows)};
  armci_hdl_t h = 0;
  EXPECT_EQ(ARMCI_NbGetS(w.mine(proc) + at, &strides_there, got.data(), &strides_here, counts, 1, proc, &h), 0);
  char* const m = w.model[static_cast<size_t>(proc)].data() + at;
  const std::vector<char> before(m, m + rows * there);
  const size_t end = (rows - 1) * there + row - 8;  // the last bytes are read last
  switch (w.up_to(3)) {
    case 0: {
      const auto over = some_bytes(w, 8);
      EXPECT_EQ(ARMCI_Put(const_cast<char*>(over.data()), w.mine(proc) + at + end, 8, proc), 0);
      std::memcpy(m + end, over.data(), 8);
      break;
    }
    case 1:
      add_longs(w, proc, at + end, 8);
      break;
    case 2: {
      long mine = static_cast<long>(w.random());
      const long sent = mine;
      EXPECT_EQ(ARMCI_Rmw(ARMCI_SWAP_LONG, &mine, w.mine(proc) + at + end, 0, proc), 0);
      std::memcpy(m + end, &sent, 8);
      break;
    }
    default:
      EXPECT_EQ(ARMCI_WaitProc(proc), 0);
  }
  EXPECT_EQ(ARMCI_Wait(&h), 0);
  for (size_t i = 0; i < rows; ++i) check("large get", got.data() + i * here, before.data() + i * there, row);
}

/// A put that may use RMA, since no request is outstanding, then requests that must not overtake it.
void large_put(world& w, int proc) {
  EXPECT_EQ(ARMCI_Fence(proc), 0);
  const size_t n = (256 << 10) + 8 * w.up_to(20000), at = w.up_to((part - n) / 8) * 8;
  const auto bytes = some_bytes(w, n);
  char* const m = w.model[static_cast<size_t>(proc)].data() + at;
  // An earlier get must not return the new data.
  const size_t first = w.up_to(1) == 0 ? 1 + w.up_to(5000) : 0;
  std::vector<char> earlier(first + 1), before(m, m + first);
  armci_hdl_t h = 0;
  if (first > 0) EXPECT_EQ(ARMCI_NbGet(w.mine(proc) + at, earlier.data(), static_cast<int>(first), proc, &h), 0);
  EXPECT_EQ(ARMCI_Put(const_cast<char*>(bytes.data()), w.mine(proc) + at, static_cast<int>(n), proc), 0);
  std::copy(bytes.begin(), bytes.end(), m);
  EXPECT_EQ(ARMCI_Wait(&h), 0);
  check("get before a large put", earlier.data(), before.data(), first);
  add_longs(w, proc, at + n - 8, 8);
  std::vector<char> got(n);
  EXPECT_EQ(ARMCI_Get(w.mine(proc) + at, got.data(), static_cast<int>(n), proc), 0);
  check("get after a large put", got.data(), m, n);
}

/// Large puts without waits, which may be under way together by RMA and overlap, then a request that must not overtake
/// them.
void burst_of_large_puts(world& w, int proc) {
  if (w.up_to(3) != 0) EXPECT_EQ(ARMCI_Fence(proc), 0);  // else they may be messages
  const size_t all = (512 << 10) + 8 * w.up_to(20000), at = w.up_to((part - all) / 8) * 8;
  char* const m = w.model[static_cast<size_t>(proc)].data() + at;
  std::vector<std::vector<char>> sources;
  std::vector<armci_hdl_t> handles(2 + w.up_to(4));
  for (armci_hdl_t& h : handles) {
    const size_t n = (256 << 10) + 8 * w.up_to(30000), skip = w.up_to((all - n) / 8) * 8;
    armci_hdl_t* const handle = w.up_to(2) == 0 ? nullptr : &h;
    h = 0;
    if (w.up_to(2) == 0) {  // rows
      int row = 8192 + 8 * static_cast<int>(w.up_to(1000)), pitch = row + 8 * static_cast<int>(w.up_to(100));
      int counts[] = {row, static_cast<int>(all) / pitch};
      sources.push_back(some_bytes(w, static_cast<size_t>(row * counts[1])));
      EXPECT_EQ(ARMCI_NbPutS(sources.back().data(), &row, w.mine(proc) + at, &pitch, counts, 1, proc, handle), 0);
      for (int i = 0; i < counts[1]; ++i)
        std::memcpy(m + static_cast<size_t>(i) * static_cast<size_t>(pitch),
                    sources.back().data() + static_cast<size_t>(i) * static_cast<size_t>(row),
                    static_cast<size_t>(row));
    } else {
      sources.push_back(some_bytes(w, n));
      EXPECT_EQ(ARMCI_NbPut(sources.back().data(), w.mine(proc) + at + skip, static_cast<int>(n), proc, handle), 0);
      std::copy(sources.back().begin(), sources.back().end(), m + skip);
    }
  }
  std::vector<char> got(all);
  switch (w.up_to(4)) {
    case 0:
      add_longs(w, proc, at + all / 16 * 8, 8);
      break;
    case 1: {
      const auto over = some_bytes(w, 40000);
      EXPECT_EQ(ARMCI_Put(const_cast<char*>(over.data()), w.mine(proc) + at, 40000, proc), 0);
      std::memcpy(m, over.data(), 40000);
      break;
    }
    case 2: {
      long mine = static_cast<long>(w.random()), expected;
      const long sent = mine;
      std::memcpy(&expected, m + all / 16 * 8, 8);
      EXPECT_EQ(ARMCI_Rmw(ARMCI_SWAP_LONG, &mine, w.mine(proc) + at + all / 16 * 8, 0, proc), 0);
      EXPECT_EQ(mine, expected);
      std::memcpy(m + all / 16 * 8, &sent, 8);
      break;
    }
    case 3:
      EXPECT_EQ(ARMCI_Fence(proc), 0);
      break;
    default:
      break;
  }
  EXPECT_EQ(ARMCI_Get(w.mine(proc) + at, got.data(), static_cast<int>(all), proc), 0);
  check("get after large puts", got.data(), m, all);
  for (armci_hdl_t& h : handles) EXPECT_EQ(ARMCI_Wait(&h), 0);
  EXPECT_EQ(w.up_to(1) == 0 ? ARMCI_WaitAll() : ARMCI_WaitProc(proc), 0);
}

/// To numbers that all use: the sum of all is checked at the end. Small integers, which doubles add exactly.
void accumulate_shared(world& w, int proc) {
  const size_t n = 1 + w.up_to(w.up_to(3) == 0 ? shared_numbers - 1 : 30), at = w.up_to(shared_numbers - n);
  const size_t k = static_cast<size_t>(proc) * shared_numbers + at;
  if (w.up_to(1) == 0) {
    std::vector<double> x(n);
    for (double& one : x) one = static_cast<double>(w.up_to(8));
    double scale = 2;
    EXPECT_EQ(ARMCI_Acc(ARMCI_ACC_DBL, &scale, x.data(), w.shared_doubles(proc) + at, static_cast<int>(n * 8), proc),
              0);
    for (size_t i = 0; i < n; ++i) w.doubles[k + i] += 2 * x[i];
  } else {
    std::vector<long> x(n);
    for (long& one : x) one = static_cast<long>(w.up_to(1000));
    long scale = -1;
    std::vector<void*> here(n), there(n);
    for (size_t i = 0; i < n; ++i) {
      here[i] = &x[i];
      there[i] = w.shared_longs(proc) + at + i;
    }
    armci_giov_t v{};
    v.src_ptr_array = here.data();
    v.dst_ptr_array = there.data();
    v.bytes = 8;
    v.ptr_array_len = static_cast<int>(n);
    EXPECT_EQ(ARMCI_AccV(ARMCI_ACC_LNG, &scale, &v, 1, proc), 0);
    for (size_t i = 0; i < n; ++i) w.longs[k + i] -= x[i];
  }
}

/// Some of the numbers on which others accumulate, so both must be atomic in the same way.
void count(world& w, int proc) {
  const size_t c = w.up_to(n_counters - 1), k = static_cast<size_t>(proc) * n_counters + c;
  const int add = static_cast<int>(w.up_to(10)) - 3;
  long before = -1;
  if (w.up_to(1) == 0) {
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, w.counters(proc) + c, add, proc), 0);
    w.counted[k] += add;
  } else {
    const size_t at = w.up_to(63);
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, w.shared_longs(proc) + at, add, proc), 0);
    w.longs[static_cast<size_t>(proc) * shared_numbers + at] += add;
  }
}

void swap(world& w, int proc) {
  const size_t at = w.up_to(part / 8 - 1) * 8;
  long mine = static_cast<long>(w.random()), expected;
  const long sent = mine;
  char* const m = w.model[static_cast<size_t>(proc)].data() + at;
  std::memcpy(&expected, m, 8);
  EXPECT_EQ(ARMCI_Rmw(ARMCI_SWAP_LONG, &mine, w.mine(proc) + at, -8999, proc), 0);
  EXPECT_EQ(mine, expected);
  std::memcpy(m, &sent, 8);
}

void check_sums(world& w) {
  std::vector<double> d = w.doubles;
  std::vector<long> l = w.longs, c = w.counted;
  char plus[] = "+";
  armci_msg_dgop(d.data(), static_cast<int>(d.size()), plus);
  armci_msg_lgop(l.data(), static_cast<int>(l.size()), plus);
  armci_msg_lgop(c.data(), static_cast<int>(c.size()), plus);
  ARMCI_Barrier();
  const size_t first = static_cast<size_t>(w.me) * shared_numbers;
  for (size_t i = 0; i < shared_numbers; ++i) {
    EXPECT_EQ(w.shared_doubles(w.me)[i], d[first + i]);
    EXPECT_EQ(w.shared_longs(w.me)[i], l[first + i]);
  }
  for (size_t i = 0; i < n_counters; ++i) EXPECT_EQ(w.counters(w.me)[i], c[static_cast<size_t>(w.me) * n_counters + i]);
}

void run(long operations, unsigned long seed) {
  EXPECT_EQ(ARMCI_Init(), 0);
  world w;
  w.me = armci_msg_me();
  w.n = armci_msg_nproc();
  w.random.seed(seed * 1000 + static_cast<unsigned long>(w.me));
  const auto n = static_cast<size_t>(w.n);
  std::vector<void*> bases(n);
  const size_t bytes = n * part + (2 * shared_numbers + n_counters) * 8;
  EXPECT_EQ(ARMCI_Malloc(bases.data(), static_cast<armci_size_t>(bytes)), 0);
  for (void* b : bases) w.bases.push_back(static_cast<char*>(b));
  std::memset(w.bases[static_cast<size_t>(w.me)], 0, bytes);
  w.model.assign(n, std::vector<char>(part, 0));
  w.doubles.assign(n * shared_numbers, 0);
  w.longs.assign(n * shared_numbers, 0);
  w.counted.assign(n * n_counters, 0);
  armci_msg_barrier();
  int proc = 0;
  for (long i = 0; i < operations && armci_test::failures.load() == 0; ++i) {
    if (w.up_to(3) != 0) proc = static_cast<int>(w.up_to(n - 1));  // now and then many to one target in a row
    switch (w.up_to(13)) {
      case 0:
      case 1:
        put_contiguous(w, proc);
        break;
      case 2:
        get_contiguous(w, proc);
        break;
      case 3:
        put_section(w, proc);
        break;
      case 4:
        get_section(w, proc);
        break;
      case 5:
        vectors(w, proc, true);
        break;
      case 6:
        vectors(w, proc, false);
        break;
      case 7:
        accumulate_alone(w, proc);
        break;
      case 8:
        accumulate_shared(w, proc);
        break;
      case 9:
        count(w, proc);
        break;
      case 10:
        swap(w, proc);
        break;
      case 11:
        burst_of_accumulates(w, proc);
        break;
      case 12:
        if (const size_t choice = w.up_to(7); choice < 2)
          large_get(w, proc);
        else if (choice == 2)
          large_put(w, proc);
        else if (choice == 3)
          burst_of_large_puts(w, proc);
        break;
      default:
        EXPECT_EQ(w.up_to(1) == 0 ? ARMCI_Fence(proc) : ARMCI_AllFence(), 0);
    }
  }
  ARMCI_Barrier();
  // What the others have put into my memory, they check by gets of all they have.
  for (int p = 0; p < w.n; ++p) {
    std::vector<char> got(part);
    EXPECT_EQ(ARMCI_Get(w.mine(p), got.data(), static_cast<int>(part), p), 0);
    check("the last get", got.data(), w.model[static_cast<size_t>(p)].data(), part);
  }
  check_sums(w);
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_Free(bases[static_cast<size_t>(w.me)]), 0);
  EXPECT_EQ(ARMCI_Finalize(), 0);
}

}  // namespace

int main(int argc, char** argv) {
  const long operations = argc > 1 ? std::atol(argv[1]) : 10000;
  const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  std::printf("%ld operations, seed %lu\n", operations, seed);
  return armci_test::on_ranks([=] { run(operations, seed); });
}
