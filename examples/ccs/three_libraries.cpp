// A library of message passing, one of global arrays and one of remote memory in one program. They share CCS, and each
// has a context of its own. The program calls them in turn, so that messages of all three are outstanding at the same
// time, and each process checks the data that it gets.
//
//   lcirun -n 4 ccs_three_libraries
#include <random>

#include "global_arrays.hpp"
#include "message_passing.hpp"
#include "remote_memory.hpp"

namespace ga = global_arrays;
namespace mp = message_passing;
namespace rm = remote_memory;
using ga::check;

namespace {

constexpr int rows = 12, columns = 20, row_bytes = columns * 8;

/// Puts a patch of a matrix to the next process, gets it back, and accumulates it there.
void patches(rm::library& memory, double* matrix, int step, CCS_node_t next, CCS_node_t previous) {
  double mine[4][6], back[4][6];
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 6; ++k) mine[i][k] = back[i][k] = step + 10 * i + k + 0.25;
  double* const patch = matrix + 3 * columns + 5;
  const std::vector<int> counts{6 * 8, 4};
  const rm::section here{mine, {6 * 8}}, there{patch, {row_bytes}}, copy{back, {6 * 8}};
  memory.put(here, there, counts, next);
  memory.accumulate(2.0, here, there, counts, next);
  memory.fence(next);
  memory.notify(next);
  memory.wait_notify(previous);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 6; ++k) check(patch[i * columns + k] == 3 * mine[i][k], "a patch that was put and added to");
  check(patch[-1] == 0 && patch[6] == 0 && patch[4 * columns] == 0, "what lies beside the patch");
  memory.get(there, copy, counts, next);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 6; ++k) check(back[i][k] == 3 * mine[i][k], "a patch that was got");
  // Three words anywhere, in one operation.
  double corners[3] = {1.5 + step, 2.5 + step, 3.5 + step}, got[3] = {};
  double* const to[3] = {matrix, matrix + columns - 1, matrix + (rows - 1) * columns};
  std::vector<rm::piece> out, in;
  for (int i = 0; i < 3; ++i) {
    out.push_back({&corners[i], to[i], sizeof(double)});
    in.push_back({to[i], &got[i], sizeof(double)});
  }
  memory.put(out, next);
  memory.fence(next);
  memory.get(in, next);
  for (int i = 0; i < 3; ++i) check(got[i] == corners[i], "pieces that were put and got");
}

}  // namespace

int main() {
  check(CCS_init());
  const int me = ga::my_number(), n = ga::n_processes();
  const auto next = static_cast<CCS_node_t>((me + 1) % n), previous = static_cast<CCS_node_t>((me + n - 1) % n);
  {
    mp::library messages;
    rm::library memory;
    ga::shared_array<uint64_t> table(1 << 10, 16);
    auto* const matrix = static_cast<double*>(memory.allocate(rows * row_bytes));
    std::fill(matrix, matrix + rows * columns, 0.0);
    memory.barrier();
    std::mt19937_64 random(static_cast<uint64_t>(me) + 1);
    uint64_t added = 0;
    for (int step = 0; step < 30; ++step) {
      // A message by rendezvous and a short one are outstanding while the other libraries are used.
      const size_t sizes[] = {60000, 40};
      mp::library::request sends[2], receives[2];
      std::vector<unsigned char> out[2], in[2];
      for (const int i : {0, 1}) {
        out[i].assign(sizes[i], static_cast<unsigned char>(me * 3 + step + i));
        in[i].resize(sizes[i]);
        messages.irecv(receives[i], in[i].data(), sizes[i], CCS_DATA8, static_cast<int>(previous), i);
        messages.isend(sends[i], out[i].data(), sizes[i], CCS_DATA8, static_cast<int>(next), i);
      }
      for (int i = 0; i < 20; ++i) {
        const uint64_t by = random() % 1000;
        ga::atomic(table.at(random() % table.size()), CCS_ATOMIC_FETCHADD, by);
        added += by;
      }
      patches(memory, matrix, step, next, previous);
      for (const int i : {0, 1}) {
        messages.wait(receives[i]);
        messages.wait(sends[i]);
        const auto expected = static_cast<unsigned char>(static_cast<int>(previous) * 3 + step + i);
        check(std::count(in[i].begin(), in[i].end(), expected) == static_cast<ptrdiff_t>(sizes[i]), "a message");
      }
      memory.barrier();
    }
    uint64_t found = 0, all_found = 0, all_added = 0;
    for (size_t i = 0; i < table.size(); ++i)
      if (table.is_mine(i)) found += *table.at(i).address;
    check(CCS_allreduce(&found, &all_found, 1, CCS_UINT64, CCS_SUM));
    check(CCS_allreduce(&added, &all_added, 1, CCS_UINT64, CCS_SUM));
    check(all_found == all_added, "the sum of the table");
    memory.release(matrix);
  }
  std::printf("process %d of %d: right\n", me, n);
  check(CCS_finalize());
  return 0;
}
