// Ranks post random operations and cancel some of them, on networks that delay, reorder and refuse: each operation
// ends once, no buffer is written after its operation was cancelled, and all devices become drained.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include "lci.hpp"
#include "lib/core/runtime/runtime.hpp"
#include "network/sim/world.hpp"
#include "tests/sim/seeds.hpp"

namespace {

using lci::errorcode_t;
using lci::network::sim::random_source;

constexpr std::byte given_back{0xee};

struct posted {
  const char* what;
  int rank;
  bool receives;
  std::vector<std::byte> buffer;
  uint64_t result = 0;
  lci::operation_t name;
  bool accepted = false;
  int ends = 0;
  bool early = false;
};

class job {
 public:
  explicit job(uint64_t seed) : seed_(seed), random_(seed) {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_seed = seed;
    attr.sim_ranks = n_ranks_ = 1 + below(3);
    attr.sim_rma = random_.percent(70);
    attr.sim_preposted_recvs = random_.percent(30);
    attr.sim_max_delay = random_.up_to(30);
    attr.sim_retry_percent = random_.up_to(40);
    attr.packet_size = 1024;
    attr.rdv_chunk_size = 4096;
    attr.rdv_protocol = static_cast<lci::attr_rdv_protocol_t>(below(5));
    lci::set_g_default_attr(attr);
    for (size_t i = 0; i < n_ranks_; ++i) ranks_.emplace_back().rt = lci::alloc_runtime();
    lci::set_g_default_attr(before);
    for (rank& r : ranks_) {
      r.cq = lci::alloc_cq_x().runtime(r.rt)();
      r.arrivals = lci::alloc_cq_x().runtime(r.rt)();
      r.rcomp = lci::register_rcomp_x(r.arrivals).runtime(r.rt)();
      r.window.resize(window_size);
      r.mr = lci::register_memory_x(r.window.data(), r.window.size()).runtime(r.rt)();
      r.rmr = lci::get_rmr_x(r.mr).runtime(r.rt)();
    }
  }
  ~job() {
    for (rank& r : ranks_) {
      lci::deregister_memory_x(&r.mr).runtime(r.rt)();
      lci::deregister_rcomp_x(r.rcomp).runtime(r.rt)();
      lci::free_comp_x(&r.arrivals).runtime(r.rt)();
      lci::free_comp_x(&r.cq).runtime(r.rt)();
    }
    for (rank& r : ranks_) lci::free_runtime(&r.rt);
  }
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  std::vector<std::string> run() {
    for (int i = 0; i < 200; ++i) {
      post_something();
      while (random_.percent(60)) step();
      while (random_.percent(50) && !operations_.empty()) lci::cancel(operations_[below(operations_.size())].name);
    }
    for (int i = 0; i < 50; ++i) step();
    for (const posted& p : operations_) lci::cancel(p.name);
    // Receive the messages that have arrived nevertheless, so that senders that wait for an acknowledgement end.
    int rounds = 0;
    for (; rounds < 20'000 && !(all_ended() && drained()); ++rounds) {
      if (rounds % 100 == 0)
        for (size_t r = 0; r < n_ranks_; ++r)
          for (size_t peer = 0; peer < n_ranks_; ++peer) receive(r, peer, 0);
      step();
    }
    if (!drained()) wrong("the devices are not drained");
    for (const posted& p : operations_) {
      if (p.accepted && p.ends != 1) wrong(std::string(p.what) + " has ended " + std::to_string(p.ends) + " times");
      if (!p.early || !p.receives) continue;
      for (const std::byte b : p.buffer)
        if (b != given_back) {
          wrong(std::string(p.what) + " was cancelled, and has written to its buffer");
          break;
        }
      if (p.result != 99 && p.what == std::string("atomic")) wrong("an atomic's result was written");
    }
    for (rank& r : ranks_)
      if (const uint64_t n = r.rt.p_impl->rejected_packets.load()) wrong(std::to_string(n) + " packets were rejected");
    return wrong_;
  }

 private:
  static constexpr size_t window_size = 64 * 1024;
  struct rank {
    lci::runtime_t rt;
    lci::comp_t cq, arrivals;
    lci::rcomp_t rcomp = 0;
    std::vector<std::byte> window;
    lci::mr_t mr;
    lci::rmr_t rmr;
  };

  void wrong(const std::string& what) { wrong_.push_back("seed " + std::to_string(seed_) + ": " + what); }
  size_t below(size_t n) { return random_.up_to(n - 1); }
  size_t some_size() {
    const size_t sizes[] = {8, 100, 900, 3000, 9000, 40'000};
    return sizes[below(std::size(sizes))];
  }
  double some_deadline() { return random_.percent(15) ? 0 : random_.percent(20) ? 1e-4 : -1; }

  template <class Post>
  void finish_post(posted& p, Post post) {
    rank& r = ranks_[static_cast<size_t>(p.rank)];
    post.operation(&p.name).user_context(&p).runtime(r.rt);
    lci::status_t s;
    for (int i = 0; i < 1000 && (s = post()).is_retry(); ++i) step();
    p.accepted = !s.is_retry();
    if (s.is_posted() == p.name.is_empty()) wrong("an operation has a name although it was not posted, or has none");
    if (s.is_done()) ended(p, s);
  }
  posted& add(const char* what, size_t rank, size_t size, bool receives) {
    posted& p = operations_.emplace_back();
    p.what = what;
    p.rank = static_cast<int>(rank);
    p.receives = receives;
    p.buffer.assign(size, static_cast<std::byte>(operations_.size() % 200));
    return p;
  }
  void receive(size_t me, size_t from, double deadline) {
    posted& p = add("receive", me, 40'000, true);
    finish_post(p, lci::post_recv_x(static_cast<int>(from), p.buffer.data(), p.buffer.size(), 1, ranks_[me].cq)
                       .deadline(deadline));
  }
  void post_something() {
    const size_t me = below(n_ranks_), to = below(n_ranks_);
    const int peer = static_cast<int>(to);
    const rank& r = ranks_[me];
    const rank& target = ranks_[to];
    const auto semantic = random_.percent(30) ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory;
    const bool allow_retry = random_.percent(50);
    const size_t kind = below(6);
    if (kind == 0) return receive(me, to, some_deadline());
    posted& p = add(kind == 1   ? "send"
                    : kind == 2 ? "am"
                    : kind == 3 ? "put"
                    : kind == 4 ? "get"
                                : "atomic",
                    me, some_size(), kind >= 4);
    const double deadline = some_deadline();
    if (kind == 1) {
      finish_post(p, lci::post_send_x(peer, p.buffer.data(), p.buffer.size(), 1, r.cq)
                         .comp_semantic(semantic)
                         .allow_retry(allow_retry)
                         .deadline(deadline));
    } else if (kind == 2) {
      finish_post(p, lci::post_am_x(peer, p.buffer.data(), p.buffer.size(), r.cq, target.rcomp)
                         .comp_semantic(semantic)
                         .allow_retry(allow_retry)
                         .deadline(deadline));
    } else if (kind == 3) {
      finish_post(p, lci::post_put_x(peer, p.buffer.data(), p.buffer.size(), r.cq, 8, target.rmr)
                         .allow_retry(allow_retry)
                         .deadline(deadline));
    } else if (kind == 4) {
      finish_post(p, lci::post_get_x(peer, p.buffer.data(), p.buffer.size(), r.cq, 8, target.rmr)
                         .allow_retry(allow_retry)
                         .deadline(deadline));
    } else {
      const uint64_t one = 1;
      finish_post(
          p, lci::post_atomic_x(peer, lci::atomic_op_t::add, &one, &p.result, r.cq, 0, target.rmr).deadline(deadline));
    }
  }

  void ended(posted& p, const lci::status_t& s) {
    ++p.ends;
    const bool early = s.error == errorcode_t::cancelled || s.error == errorcode_t::timed_out;
    if (!early && !s.is_done()) wrong(std::string(p.what) + " ended as " + s.error.get_str());
    if (s.is_done() && p.what == std::string("receive"))
      for (size_t i = 1; i < s.size; ++i)
        if (p.buffer[i] != p.buffer[0]) {
          wrong("a message came in pieces");
          break;
        }
    p.early = early;
    if (!early) return;
    p.buffer.assign(p.buffer.size(), given_back);
    p.result = 99;
  }
  void step() {
    rank& r = ranks_[below(n_ranks_)];
    lci::progress_x().runtime(r.rt)();
    for (lci::status_t s; (s = lci::cq_pop_x(r.cq).runtime(r.rt)(), !s.is_retry());)
      ended(*static_cast<posted*>(s.user_context), s);
    for (lci::status_t s; (s = lci::cq_pop_x(r.arrivals).runtime(r.rt)()).is_done();) {
      const auto* bytes = static_cast<const std::byte*>(s.buffer);
      for (size_t i = 1; i < s.size; ++i)
        if (bytes[i] != bytes[0]) {
          wrong("an active message came in pieces");
          break;
        }
      std::free(s.buffer);
    }
  }
  bool all_ended() const {
    for (const posted& p : operations_)
      if (p.accepted && p.ends == 0) return false;
    return true;
  }
  bool drained() const {
    for (const rank& r : ranks_)
      if (!lci::test_drained_x().runtime(r.rt)().is_done()) return false;
    return true;
  }

  const uint64_t seed_;
  random_source random_;
  size_t n_ranks_ = 1;
  std::deque<rank> ranks_;
  std::deque<posted> operations_;
  std::vector<std::string> wrong_;
};

}  // namespace

TEST_CASE("randomly cancelled operations end once, and all devices become drained") {
  const char* one = std::getenv("LCI_TEST_SEED");
  const uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const uint64_t last = one != nullptr ? first : static_cast<uint64_t>(lci_test::some_of(150));
  std::vector<std::string> wrong;
  for (uint64_t seed = first; seed <= last && wrong.size() < 10; ++seed)
    for (const std::string& w : job(seed).run()) wrong.push_back(w);
  CHECK(wrong == std::vector<std::string>{});
}
