// One-sided access: a mailbox in the memory of each rank, written by its left neighbour with a put
// that signals its arrival, and read by the right one with a get that signals that it was read.
//
//   lcirun -n 4 put_get_signal

#include <cstdio>
#include <cstring>
#include <lci.hpp>
#include <vector>

int main() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me(), n = lci::get_rank_n();
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  constexpr size_t size = 100000;
  std::vector<char> mailbox(size), page(size);
  int errors = 0;

  // Others may access memory that is registered, by a key that is plain bytes.
  lci::mr_t mr = lci::register_memory(mailbox.data(), size);
  const lci::rmr_t mine = lci::get_rmr(mr);
  std::vector<lci::rmr_t> keys(static_cast<size_t>(n));
  lci::allgather(&mine, keys.data(), sizeof mine);

  // Who is told at the target. The status has the rank, size and tag.
  lci::comp_t written = lci::alloc_cq(), read = lci::alloc_cq();
  const lci::rcomp_t when_written = lci::register_rcomp(written);
  const lci::rcomp_t when_read = lci::register_rcomp(read);
  lci::barrier();

  for (int round = 0; round < 10; ++round) {
    // Into the right neighbour's mailbox; waits until the buffer is free again.
    std::memset(page.data(), 'a' + (me + round) % 26, size);
    lci::post_put_x(right, page.data(), size, lci::COMP_NULL, 0, keys[static_cast<size_t>(right)])
        .remote_comp(when_written)
        .tag(static_cast<lci::tag_t>(round))();

    // Has our left neighbour's arrived? The signal comes after the data.
    lci::status_t status = lci::cq_wait_for(written, /*seconds; negative: for ever*/ -1);
    const char expected = static_cast<char>('a' + (left + round) % 26);
    errors += status.rank != left || status.tag != static_cast<lci::tag_t>(round);
    for (const char c : mailbox) errors += c != expected;

    // What the right neighbour has got, read back from its memory.
    lci::post_get_x(right, page.data(), size, lci::COMP_NULL, 0, keys[static_cast<size_t>(right)])
        .remote_comp(when_read)();
    errors += page[size - 1] != static_cast<char>('a' + (me + round) % 26);

    // Ours has been read: the next page may come.
    status = lci::cq_wait_for(read, -1);
    errors += status.rank != left;
    lci::barrier();
  }
  std::printf("rank %d: 10 pages written and read back, %d errors\n", me, errors);

  lci::deregister_memory(&mr);
  lci::free_comp(&written);
  lci::free_comp(&read);
  lci::g_runtime_fina();
  return errors != 0;
}
