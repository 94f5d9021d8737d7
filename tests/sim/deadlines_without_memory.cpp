// Operations with deadlines whose data goes as messages, since puts and gets wait for the peer: allocations fail during
// their post and their progress, or their device is freed.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/failing_memory.hpp"

using namespace sim_test;
using lci::errorcode_t;

namespace {

constexpr size_t size = 20'000;
const std::array<size_t, 2> counts = {size / 2, 2}, strides = {size};
const lci::layout_t rows = lci::layout_t::strided(counts.data(), strides.data(), 1);

enum class kind : int {
  put,
  get,
  put_layout,
  get_layout,
  send,
  receive,
  receive_allocating,
  last = receive_allocating
};

bool is_receive(kind k) { return k == kind::receive || k == kind::receive_allocating; }

/// Two ranks, the first of which posts to the second, through devices of their own.
class posting_job {
 public:
  posting_job() {
    for (int r = 0; r < 2; ++r) {
      devices[r] = lci::alloc_device_x().close_timeout(0.1).runtime(job_[r])();
      closing_network::before(devices[r]).rma_waits = true;
    }
    mr_ = lci::register_memory_x(window_.data(), window_.size()).runtime(job_[1]).device(devices[1])();
    key_ = lci::get_rmr_x(mr_).runtime(job_[1])();
    ends_ = lci::alloc_cq_x().runtime(job_[0])();
    others_ = lci::alloc_cq_x().runtime(job_[1])();
  }
  ~posting_job() {
    if (!devices[0].is_empty()) lci::free_device_x(&devices[0]).runtime(job_[0])();
    lci::deregister_memory_x(&mr_).runtime(job_[1])();
    lci::free_device_x(&devices[1]).runtime(job_[1])();
    (void)take_ends();
    lci::free_comp_x(&others_).runtime(job_[1])();
    lci::free_comp_x(&ends_).runtime(job_[0])();
  }
  posting_job(const posting_job&) = delete;
  posting_job& operator=(const posting_job&) = delete;

  void turn(int n = 1) {
    for (; n > 0; --n)
      for (int r = 0; r < 2; ++r) {
        if (devices[r].is_empty()) continue;
        try {
          (void)lci::progress_x().runtime(job_[r]).device(devices[r])();
        } catch (const lci::resource_error&) {
          // There was no memory; a later call goes on.
        }
      }
  }
  void free_own_device() { lci::free_device_x(&devices[0]).runtime(job_[0])(); }
  bool drained(int rank) { return lci::test_drained_x().runtime(job_[rank]).device(devices[rank])().is_done(); }

  /// Posts at rank 1 what the operation needs there.
  void post_counterpart(kind k) {
    lci::status_t s = errorcode_t::retry;
    while (s.is_retry() && k == kind::send) {
      s = lci::post_recv_x(0, window_.data(), size, 3, others_).runtime(job_[1]).device(devices[1])();
    }
    while (s.is_retry() && is_receive(k)) {
      s = lci::post_send_x(0, window_.data(), size, 4, others_).runtime(job_[1]).device(devices[1])();
      turn();
    }
  }
  lci::status_t post(kind k, double deadline) {
    const auto context = reinterpret_cast<void*>(static_cast<uintptr_t>(k));
    const auto with = [&](auto post) {
      return post.user_context(context).deadline(deadline).allow_done(false).runtime(job_[0]).device(devices[0])();
    };
    char* const at = buffers[k].data();
    const lci::layout_t* const layout = k == kind::put_layout || k == kind::get_layout ? &rows : nullptr;
    switch (k) {
      case kind::put:
      case kind::put_layout:
        return with(lci::post_put_x(1, at, size, ends_, 0, key_).remote_layout(layout));
      case kind::get:
      case kind::get_layout:
        return with(lci::post_get_x(1, at, size, ends_, 0, key_).remote_layout(layout));
      case kind::send:
        return with(lci::post_send_x(1, at, size, 3, ends_));
      case kind::receive:
        return with(lci::post_recv_x(1, at, size, 4, ends_));
      case kind::receive_allocating:
        return with(lci::post_recv_x(1, nullptr, 0, 4, ends_).allocate(true));
    }
    return errorcode_t::fatal;
  }
  /// Appends the statuses of operations that have ended to those of their kind.
  std::map<kind, std::vector<lci::status_t>>& take_ends() {
    for (lci::status_t s; !(s = lci::cq_pop_x(ends_).runtime(job_[0])()).is_retry();) {
      const auto k = static_cast<kind>(reinterpret_cast<uintptr_t>(s.user_context));
      // The operation has ended, so the buffer is the program's again, and the library must not change it.
      std::ranges::fill(buffers[k], 'x');
      if (k == kind::receive_allocating && s.is_done()) std::free(s.buffer);
      if (k == kind::receive_allocating && !s.is_done()) CHECK(s.buffer == nullptr);
      ended_[k].push_back(s);
    }
    return ended_;
  }

  std::array<lci::device_t, 2> devices;
  std::map<kind, std::vector<char>> buffers = [] {
    std::map<kind, std::vector<char>> made;
    for (int k = 0; k <= static_cast<int>(kind::last); ++k) made[static_cast<kind>(k)].assign(size, 'b');
    return made;
  }();

 private:
  small_job job_{2};
  std::vector<char> window_ = std::vector<char>(2 * size, 'w');
  lci::mr_t mr_;
  lci::rmr_t key_;
  lci::comp_t ends_, others_;
  std::map<kind, std::vector<lci::status_t>> ended_;
};

bool untouched(const std::vector<char>& buffer) {
  return std::ranges::all_of(buffer, [](char c) { return c == 'x'; });
}

}  // namespace

TEST_CASE("operations with a deadline that go by messages end once, whichever allocation fails", "[sim]") {
  for (int i = 0; i <= static_cast<int>(kind::last); ++i) {
    const auto k = static_cast<kind>(i);
    int failed = 0;
    for (const bool late : {false, true}) {
      for (long good = 0; good < 60; ++good) {
        CAPTURE(i, late, good);
        posting_job j;
        j.post_counterpart(k);
        j.turn(100);
        lci::status_t s;
        {
          const failing_memory once(0, good, 1);
          try {
            s = j.post(k, late ? 0.0 : 3600.0);
          } catch (const lci::resource_error&) {
            s = errorcode_t::retry;
          }
          j.turn(200);
        }
        const bool reached = failing_memory::failures() > 0;
        j.turn(500);
        CHECK((s.is_posted() || s.is_retry()));
        CHECK(j.take_ends()[k].size() == (s.is_posted() ? 1 : 0));
        for (const lci::status_t& end : j.take_ends()[k])
          CHECK((end.is_done() || end.error == errorcode_t::timed_out || end.error == errorcode_t::no_memory));
        CHECK(j.drained(0));
        j.turn(100);
        if (s.is_posted()) CHECK(untouched(j.buffers[k]));
        if (!reached) break;
        ++failed;
      }
    }
    CHECK(failed > 0);
  }
}

TEST_CASE("operations with a deadline that go by messages end once with their device", "[sim]") {
  for (const int turns : {0, 1, 5, 20}) {
    CAPTURE(turns);
    posting_job j;
    for (int i = 0; i <= static_cast<int>(kind::last); ++i) {
      const auto k = static_cast<kind>(i);
      j.post_counterpart(k);
      lci::status_t s;
      while ((s = j.post(k, 3600)).is_retry()) j.turn();
      CHECK(s.is_posted());
    }
    j.turn(turns);
    j.free_own_device();
    for (int i = 0; i <= static_cast<int>(kind::last); ++i) {
      const auto& ends = j.take_ends()[static_cast<kind>(i)];
      CAPTURE(i);
      REQUIRE(ends.size() == 1);
      CHECK((ends[0].is_done() || ends[0].error == errorcode_t::cancelled));
    }
    j.turn(300);
    for (const auto& [k, buffer] : j.buffers) CHECK(untouched(buffer));
    CHECK(j.take_ends()[kind::put].size() == 1);
  }
}
