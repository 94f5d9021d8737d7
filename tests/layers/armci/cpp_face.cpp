// ARMCI in C++: operations as functors, and the owners of memory, mutexes and handles.
#include <armci.hpp>

#include <mutex>
#include <numeric>

#include "tests/layers/armci/ranks.hpp"

namespace {

int right() { return (armci::me() + 1) % armci::size(); }
int left() { return (armci::me() + armci::size() - 1) % armci::size(); }

void contiguous() {
  armci::region<double> r(1000);
  std::vector<double> out(1000), in(1000);
  std::iota(out.begin(), out.end(), 1000.0 * armci::me());
  EXPECT(r[17] == 0.0);
  armci::barrier();
  armci::put(out.data(), r.at(right()), 1000 * sizeof(double), right());
  armci::get_x(r.at(right()), in.data(), 1000 * sizeof(double), right())();
  EXPECT(in == out);
  armci::barrier();
  EXPECT(r[5] == 1000.0 * left() + 5);
  armci::barrier();
  armci::acc_x(out.data(), r.at(right()), 1000, right()).scale(2.0)();
  armci::acc(out.data(), r.at(right()), 1000, right());
  armci::fence_x().proc(right())();
  armci::barrier();
  EXPECT(r[5] == 4 * (1000.0 * left() + 5));
}

void with_handles() {
  armci::region<long> r(4096);
  armci::handle h;
  std::vector<long> out(4096), in(4096);
  std::iota(out.begin(), out.end(), 7L * armci::me());
  for (size_t i = 0; i < 4096; i += 256)
    armci::put_x(out.data() + i, r.at(right(), i), 256 * sizeof(long), right()).handle(h)();
  auto part = armci::get_x(r.at(right()), in.data(), 2048 * sizeof(long), right());
  part.handle(h)();
  armci::get_x(r.at(right(), 2048), in.data() + 2048, 2048 * sizeof(long), right()).handle(h)();
  while (!h.test()) {
  }
  EXPECT(in == out);
  h.wait();  // of nothing
  armci::barrier();
}

void patches() {
  armci::region<int> r(20 * 30 * 40);
  const armci::patch<int> there(r.at(right(), (2 * 30 + 3) * 40 + 4), {5, 6, 7}, {30 * 40, 40});
  std::vector<int> mine(5 * 6 * 7), back(5 * 6 * 8);
  std::iota(mine.begin(), mine.end(), 1);
  armci::put_patch(armci::patch<int>(mine.data(), {5, 6, 7}), there, right());
  armci::handle h;
  armci::acc_patch_x(armci::patch<int>(mine.data(), {5, 6, 7}), there, right()).scale(10).handle(h)();
  const armci::patch<int> wider(back.data(), {5, 6, 7}, {6 * 8, 8});
  armci::get_patch_x(there, wider, right()).handle(h)();
  h.wait();
  int wrong = 0, sum = 0;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < 7; ++k) wrong += back[(i * 6 + j) * 8 + k] != 11 * mine[(i * 6 + j) * 7 + k];
  EXPECT_EQ(wrong, 0);
  armci::barrier();
  for (const int v : r) sum += v;
  EXPECT_EQ(sum, 11 * 210 * 211 / 2);  // nothing beside the patch was touched
  bool thrown = false;
  try {
    armci::put_patch(armci::patch<int>(mine.data(), {5, 6, 6}), there, right());
  } catch (const std::invalid_argument&) {
    thrown = true;
  }
  EXPECT(thrown);
}

void atomics_and_mutexes() {
  armci::region<long> r(armci::me() == 0 ? 2 : 0);
  const armci::mutex_set all(armci::me() == 0 ? 1 : 0);
  armci::counter c(r, 0);
  armci::mutex m(0, 0);
  for (int i = 0; i < 200; ++i) {
    c.fetch_add();
    const std::lock_guard guard(m);
    long value;
    armci::get(r.at(0, 1), &value, sizeof value, 0);
    value += 3;
    armci::put(&value, r.at(0, 1), sizeof value, 0);
  }
  armci::barrier();
  EXPECT_EQ(c.load(), 200L * armci::size());
  EXPECT_EQ(armci::counter(r, 0, 1).load(), 600L * armci::size());
  armci::barrier();
  if (armci::me() == 0) {
    EXPECT_EQ(c.swap(1L << 40), 200L * armci::size());
    EXPECT_EQ(armci::rmw(armci::rmw_op::fetch_add, r.at(0), -1L, 0), 1L << 40);
  }
  armci::barrier();
}

void errors() {
  int code = 0;
  try {
    char byte = 0;
    armci::put(&byte, &byte, 1, armci::size());
  } catch (const armci::error& e) {
    code = e.code();
  }
  EXPECT_EQ(code, FAIL5);
}

}  // namespace

int main() {
  return armci_test::on_ranks([] {
    const armci::session s;
    contiguous();
    with_handles();
    patches();
    atomics_and_mutexes();
    errors();
    armci::barrier();
  });
}
