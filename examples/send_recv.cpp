// Sends and receives: a value is passed round the ring of ranks and each adds its own to it, first as a small message,
// then as a large one.
//
//   lcirun -n 4 send_recv

#include <cstdio>
#include <lci.hpp>
#include <vector>

namespace {

// Completes a post. `done`: it is complete, and `comp` is not signalled. `posted`: `comp` will be signalled. `retry`:
// nothing was posted, so post again; progress frees resources.
template <class Post>
lci::status_t finish(const Post& post, lci::comp_t sync) {
  lci::status_t status = post();
  while (status.is_retry()) {
    lci::progress();
    status = post();
  }
  if (status.is_posted()) lci::sync_wait(sync, &status);
  return status;
}

}  // namespace

int main() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me(), n = lci::get_rank_n();
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  lci::comp_t sent = lci::alloc_sync(), received = lci::alloc_sync();
  int errors = 0;

  // 8 bytes are copied when posted; a megabyte is transferred directly from buffer to buffer.
  for (const size_t count : {size_t{1}, size_t{131072}}) {
    const lci::tag_t tag = count;
    std::vector<long> in(count), out(count);
    // Posted before the message is sent. The functor is stored, since the post may return `retry`.
    const auto receive = lci::post_recv_x(left, in.data(), count * sizeof(long), tag, received);
    const auto send = lci::post_send_x(right, out.data(), count * sizeof(long), tag, sent);
    if (me == 0) {
      for (long& x : out) x = 0;
      // A receive that is outstanding while we send.
      lci::status_t status = receive();
      finish(send, sent);
      if (status.is_posted()) lci::sync_wait(received, &status);
    } else {
      finish(receive, received);
      for (size_t i = 0; i < count; ++i) out[i] = in[i] + me;
      finish(send, sent);
    }
    if (me == 0) {
      const long expected = static_cast<long>(n) * (n - 1) / 2;
      for (const long x : in) errors += x != expected;
      std::printf("%zu numbers went round %d ranks: the sum is %ld\n", count, n, in[0]);
    }
  }
  lci::free_comp(&sent);
  lci::free_comp(&received);
  lci::g_runtime_fina();
  return errors != 0;
}
