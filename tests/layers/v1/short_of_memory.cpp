// Iovecs within a process while single allocations of the library fail: each arrives. While all fail for a time: each
// operation ends.
#include <lci.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tests/support/failing_memory.hpp"

namespace {

void require(bool holds, const char* what, long n) {
  if (holds) return;
  std::fprintf(stderr, "%s, when allocation %ld fails\n", what, n);
  std::exit(1);
}

/// Operations get this long to end. (A number of polls would be over before a process that has to answer runs.)
class patience {
 public:
  bool is_over() const { return std::chrono::steady_clock::now() > end_; }

 private:
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(20);
};

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
    for (const patience left; n < 4 && !left.is_over();) {
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

/// A put, a send and a get of iovecs with these long buffers, where the first `good` allocations succeed, and then none
/// for a time longer than the library waits for memory. Returns whether an allocation has failed.
bool survive(LCI_comp_t queue, long good, const std::vector<LCI_lbuffer_t>& buffers) {
  static char memory[100], got_memory[100];
  char piggy_back[100];
  std::memset(piggy_back, 7, sizeof piggy_back);
  std::memset(memory, 8, sizeof memory);
  std::memset(got_memory, 0, sizeof got_memory);
  std::vector<LCI_lbuffer_t> given = buffers;
  const LCI_iovec_t sent{{piggy_back, sizeof piggy_back}, given.data(), static_cast<int>(given.size())}, none{};
  const LCI_iovec_t wanted{{memory, sizeof memory}, nullptr, 0}, got{{got_memory, sizeof got_memory}, nullptr, 0};
  char put_context, send_context, receive_context, get_context;
  std::optional<lci_test::failing_memory> some;
  some.emplace(0, good);
  const auto post = [&](auto&& f) {
    for (LCI_error_t code = f(); code != LCI_OK; code = f()) {
      if (code == LCI_ERR_FATAL) some.reset();
      (void)LCI_progress(LCI_UR_DEVICE);
    }
  };
  post([&] { return LCI_putva(LCI_UR_ENDPOINT, sent, queue, LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE, &put_context); });
  post([&] { return LCI_recvv(LCI_UR_ENDPOINT, none, LCI_RANK, 2, queue, &receive_context); });
  post([&] { return LCI_sendv(LCI_UR_ENDPOINT, sent, LCI_RANK, 2, queue, &send_context); });
  post([&] { return LCI_getv(LCI_UR_ENDPOINT, got, queue, LCI_RANK, 3, wanted, LCI_NO_COMP_REMOTE, &get_context); });
  bool ended[5] = {};  // the put, its arrival, the send, the receive, the get
  bool failed[5] = {};
  const auto note = [&](size_t i, const LCI_request_t& r) {
    require(!ended[i], "an operation has ended twice", good);
    ended[i] = true;
    failed[i] = r.flag != LCI_OK;
  };
  const auto free_all = [&](const LCI_iovec_t& v) {
    require(static_cast<size_t>(v.count) == buffers.size(), "an iovec has other buffers", good);
    for (size_t i = 0; i < buffers.size(); ++i) {
      require(v.lbuffers[i].length == buffers[i].length &&
                  std::memcmp(v.lbuffers[i].address, buffers[i].address, buffers[i].length) == 0,
              "a long buffer has other data", good);
      LCI_lbuffer_free(v.lbuffers[i]);
    }
    std::free(v.lbuffers);
    std::free(v.piggy_back.address);
  };
  const auto is_over = [&] { return ended[0] && (failed[0] || ended[1]) && ended[2] && ended[3] && ended[4]; };
  const patience left;
  for (long polls = 0; !is_over() && !left.is_over(); ++polls) {
    if (polls == 100) some.reset();
    (void)LCI_progress(LCI_UR_DEVICE);
    LCI_request_t r;
    while (LCI_queue_pop(LCI_UR_CQ, &r) == LCI_OK) {
      note(1, r);
      free_all(r.data.iovec);
    }
    while (LCI_queue_pop(queue, &r) == LCI_OK) {
      const size_t i = r.user_context == &put_context       ? 0
                       : r.user_context == &send_context    ? 2
                       : r.user_context == &receive_context ? 3
                                                            : 4;
      note(i, r);
      if (i == 3 && !failed[i]) free_all(r.data.iovec);
    }
  }
  some.reset();
  require(is_over(), "an operation does not end", good);
  require(!failed[0] || !ended[1], "a put that has failed has arrived", good);
  require(failed[2] == failed[3], "a send and its receive end differently", good);
  require(failed[4] || std::memcmp(memory, got_memory, sizeof memory) == 0, "a get has other data", good);
  return lci_test::failing_memory::failures() > 0;
}

/// A get of an iovec that can't ask for the piggy-back data, as the network is full and there is no memory to queue the
/// question. It ends as failed, and fences do not wait for it.
void fail_to_fetch(LCI_comp_t queue) {
  static char memory[100], data[5000];
  const LCI_iovec_t wanted{{memory, sizeof memory}, nullptr, 0}, got{{data, sizeof memory}, nullptr, 0};
  int sent = 0;
  for (const size_t size : {sizeof data, size_t{64}, size_t{1}})
    while (LCI_sendm(LCI_UR_ENDPOINT, {data, size}, LCI_RANK, 4) == LCI_OK) ++sent;
  LCI_request_t r;
  int failed = 0;
  for (long good = 0;; ++good) {
    LCI_error_t code;
    {
      const lci_test::failing_memory some(0, good);
      code = LCI_getv(LCI_UR_ENDPOINT, got, queue, LCI_RANK, 3, wanted, LCI_NO_COMP_REMOTE, nullptr);
    }
    if (lci_test::failing_memory::failures() == 0) break;  // the question is queued
    if (code != LCI_OK) continue;                          // the get is refused
    require(LCI_queue_pop(queue, &r) == LCI_OK && r.type == LCI_IOVEC && r.flag == LCI_ERR_FATAL, "a get goes on",
            good);
    ++failed;
  }
  require(failed > 1, "too few gets have failed", failed);
  for (int i = 0; i < sent; ++i) {
    while (LCI_recvmn(LCI_UR_ENDPOINT, LCI_RANK, 4, queue, nullptr) == LCI_ERR_RETRY) (void)LCI_progress(LCI_UR_DEVICE);
    do {
      require(LCI_queue_wait(queue, &r) == LCI_OK && r.flag == LCI_OK, "no message", i);
    } while (r.type == LCI_IOVEC);
    require(LCI_mbuffer_free(r.data.mbuffer) == LCI_OK, "no buffer", i);
  }
  require(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK, "no fence", 0);
}

}  // namespace

/// Argument `short`: without buffers that need a handshake of the core, whose messages it loses if neither the network
/// nor the backlog has memory.
int main(int argc, char**) {
  LCI_comp_t queue;
  require(LCI_initialize() == LCI_OK && LCI_queue_create(LCI_UR_DEVICE, &queue) == LCI_OK, "no start", 0);
  long good = 0;
  while (exchange(queue, good)) ++good;
  require(good > 5, "too few allocations", good);
  std::vector<char> data(1 << 20);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i % 251);
  const auto part = [&data](size_t offset, size_t size) {
    return LCI_lbuffer_t{LCI_SEGMENT_ALL, data.data() + offset, size};
  };
  // The first iovec has one buffer, the second has small ones, and those of the third do not fit in a single message.
  const std::vector<std::vector<LCI_lbuffer_t>> all = {
      {part(0, 5000)},
      {part(1, 5000), part(2, 0), part(3, 9), part(4, 6000), part(5, 7000)},
      {part(1, 100000), part(2, 300000), part(3, 1), part(4, 200000)}};
  for (const std::vector<LCI_lbuffer_t>& buffers : all) {
    if (argc > 1 && buffers[0].length > 5000) continue;
    good = 0;
    while (survive(queue, good, buffers)) ++good;
    require(good > 5, "too few allocations", good);
  }
  require(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK, "no fence", good);
  fail_to_fetch(queue);
  require(LCI_queue_free(&queue) == LCI_OK && LCI_finalize() == LCI_OK, "no end", good);
  return 0;
}
