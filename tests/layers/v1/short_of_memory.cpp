// Iovecs between ranks of one process while single allocations of the library fail: each arrives.
#include <lci.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "tests/support/failing_memory.hpp"

namespace {

void require(bool holds, const char* what, long n) {
  if (holds) return;
  std::fprintf(stderr, "%s, when allocation %ld fails\n", what, n);
  std::exit(1);
}

/// A put and a send of an iovec. Returns whether an allocation has failed.
bool exchange(LCI_comp_t queue, long good) {
  char piggy_back[100], data[5000];
  std::memset(piggy_back, 7, sizeof piggy_back);
  std::memset(data, 9, sizeof data);
  LCI_lbuffer_t buffer{LCI_SEGMENT_ALL, data, sizeof data};
  const LCI_iovec_t sent{{piggy_back, sizeof piggy_back}, &buffer, 1}, none{};
  int n = 0;
  long failures = 0;
  {
    const lci_test::failing_memory some(0, good, 1);
    const auto post = [&](auto&& f) {
      while (f() != LCI_OK) (void)LCI_progress(LCI_UR_DEVICE);  // a call that is refused has no effect
    };
    post([&] { return LCI_putva(LCI_UR_ENDPOINT, sent, queue, LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE, nullptr); });
    post([&] { return LCI_recvv(LCI_UR_ENDPOINT, none, LCI_RANK, 2, queue, nullptr); });
    post([&] { return LCI_sendv(LCI_UR_ENDPOINT, sent, LCI_RANK, 2, queue, nullptr); });
    for (long polls = 0; n < 4 && polls < 1000000; ++polls) {
      (void)LCI_progress(LCI_UR_DEVICE);
      for (const LCI_comp_t from : {queue, LCI_UR_CQ}) {
        LCI_request_t r;
        if (LCI_queue_pop(from, &r) != LCI_OK) continue;
        ++n;
        require(r.flag == LCI_OK && r.type == LCI_IOVEC && r.data.iovec.count == 1, "an iovec has failed", good);
        if (r.data.iovec.lbuffers == &buffer) continue;
        const LCI_iovec_t& got = r.data.iovec;
        require(got.lbuffers[0].length == sizeof data && std::memcmp(got.lbuffers[0].address, data, sizeof data) == 0 &&
                    std::memcmp(got.piggy_back.address, piggy_back, sizeof piggy_back) == 0,
                "an iovec has other data", good);
        LCI_lbuffer_free(got.lbuffers[0]);
        std::free(got.lbuffers);
        std::free(got.piggy_back.address);
      }
    }
    failures = lci_test::failing_memory::failures();
  }
  require(n == 4, "an iovec is lost", good);
  return failures > 0;
}

}  // namespace

int main() {
  LCI_comp_t queue;
  require(LCI_initialize() == LCI_OK && LCI_queue_create(LCI_UR_DEVICE, &queue) == LCI_OK, "no start", 0);
  long good = 0;
  while (exchange(queue, good)) ++good;
  require(good > 5, "too few allocations", good);
  require(LCI_queue_free(&queue) == LCI_OK && LCI_finalize() == LCI_OK, "no end", good);
  return 0;
}
