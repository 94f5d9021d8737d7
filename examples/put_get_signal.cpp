// One-sided access: each rank has a mailbox in its memory. The left neighbour writes it by a put that signals its
// arrival, and reads it back by a get that signals that it was read.
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

  // Other ranks may access registered memory by a key, which is plain bytes.
  lci::mr_t mr = lci::register_memory(mailbox.data(), size);
  const lci::rmr_t mine = lci::get_rmr(mr);
  std::vector<lci::rmr_t> keys(static_cast<size_t>(n));
  lci::allgather(&mine, keys.data(), sizeof mine);

  // The target's completion objects. The status contains rank, size and tag.
  lci::comp_t written = lci::alloc_cq(), read = lci::alloc_cq();
  const lci::rcomp_t when_written = lci::register_rcomp(written);
  const lci::rcomp_t when_read = lci::register_rcomp(read);
  lci::barrier();

  for (int round = 0; round < 10; ++round) {
    // Put into the right neighbour's mailbox; waits until the buffer may be reused.
    std::memset(page.data(), 'a' + (me + round) % 26, size);
    lci::post_put_x(right, page.data(), size, lci::COMP_NULL, 0, keys[static_cast<size_t>(right)])
        .remote_comp(when_written)
        .tag(static_cast<lci::tag_t>(round))();

    // Wait for the left neighbour's page. The signal comes after the data.
    lci::status_t status = lci::cq_wait_for(written, /*seconds; negative: for ever*/ -1);
    const char expected = static_cast<char>('a' + (left + round) % 26);
    errors += status.rank != left || status.tag != static_cast<lci::tag_t>(round);
    for (const char c : mailbox) errors += c != expected;

    // Read the page back from the right neighbour's memory.
    lci::post_get_x(right, page.data(), size, lci::COMP_NULL, 0, keys[static_cast<size_t>(right)])
        .remote_comp(when_read)();
    errors += page[size - 1] != static_cast<char>('a' + (me + round) % 26);

    // Our mailbox has been read: the next page may be written.
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
