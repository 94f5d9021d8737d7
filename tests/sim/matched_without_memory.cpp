// A large message that matches a posted receive needs no memory to be matched.
#include <sys/resource.h>

#include <cstdlib>
#include <vector>

#include "tests/sim/failing_memory.hpp"

using namespace sim_test;

namespace {

/// While it exists, malloc() returns null for all but large blocks that were freed meanwhile: the address space may not
/// grow, and free memory is taken.
class used_up_heap {
 public:
  used_up_heap() {
    getrlimit(RLIMIT_AS, &before_);
    rlimit none = before_;
    none.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_AS, &none);
    for (size_t size = 1 << 24; size > 1040; size /= 2) take_all(size);
    for (size_t size = 1040; size >= sizeof(block); size -= 8) take_all(size);
  }
  ~used_up_heap() {
    setrlimit(RLIMIT_AS, &before_);
    while (taken_ != nullptr) {
      block* const next = taken_->next;
      std::free(taken_);
      taken_ = next;
    }
  }
  used_up_heap(const used_up_heap&) = delete;
  used_up_heap& operator=(const used_up_heap&) = delete;

 private:
  struct block {
    block* next;
  };
  void take_all(size_t size) {
    while (auto* const one = static_cast<block*>(std::malloc(size))) {
      one->next = taken_;
      taken_ = one;
    }
  }
  rlimit before_{};
  block* taken_ = nullptr;
};

}  // namespace

TEST_CASE("a large send is matched with a posted receive without memory") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // they have heaps of their own
#endif
  constexpr size_t size = 50'000;
  small_job job(2, [](lci::global_attr_t& attr) {
    attr.sim_max_delay = 0;
    attr.rdv_protocol = lci::attr_rdv_protocol_t::write;  // the answer, one message, is kept without memory
  });
  closing_network& net = closing_network::before(job[1]);
  lci::comp_t sync[2] = {lci::alloc_sync_x().runtime(job[0])(), lci::alloc_sync_x().runtime(job[1])()};
  std::vector<char> out(size, 'x'), in(size);
  const lci::status_t received = lci::post_recv_x(0, in.data(), size, 5, sync[1]).allow_done(false).runtime(job[1])();
  const lci::status_t sent =
      lci::post_send_x(1, out.data(), size, 5, sync[0]).allow_done(false).allow_retry(false).runtime(job[0])();
  net.closed = true;
  int thrown = 0;
  bool was_used_up;
  {
    const used_up_heap none;
    void* const one = std::malloc(64);
    was_used_up = one == nullptr;
    std::free(one);
    for (int i = 0; i < 3; ++i) {
      try {
        (void)lci::progress_x().runtime(job[1])();
      } catch (const lci::resource_error&) {
        ++thrown;
      }
    }
  }
  net.closed = false;
  CHECK(was_used_up);
  const lci::status_t s = job.end_of(0, sent, sync[0]);
  CHECK(s.is_done());
  if (s.is_done()) {
    CHECK(job.end_of(1, received, sync[1]).is_done());
    CHECK(in == out);
  }
  for (int rank : {0, 1}) lci::free_comp_x(&sync[rank]).runtime(job[rank])();
}
