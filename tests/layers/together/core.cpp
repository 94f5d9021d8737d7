// LCI v2: sends and receives, active messages to a queue, puts with a signal.
#include <atomic>
#include <lci.hpp>

#include "tests/layers/together/participant.hpp"

namespace together {

namespace {

constexpr unsigned salt = 1;

class core final : public participant {
 public:
  const char* name() const override { return "LCI v2"; }

  void begin() override {
    lci::g_runtime_init();
    rank = lci::get_rank_me();
    size = lci::get_rank_n();
    sync_ = lci::alloc_sync();
    arrived_ = lci::alloc_cq();
    written_ = lci::alloc_cq();
    to_arrived_ = lci::register_rcomp(arrived_);
    to_written_ = lci::register_rcomp(written_);
    window_.assign(bytes_of(7), 0);
    mr_ = lci::register_memory(window_.data(), window_.size());
    const lci::rmr_t mine = lci::get_rmr(mr_);
    keys_.resize(static_cast<size_t>(size));
    lci::allgather(&mine, keys_.data(), sizeof mine);
  }

  void end() override {
    lci::barrier();
    lci::deregister_memory(&mr_);
    lci::deregister_rcomp(to_arrived_);
    lci::deregister_rcomp(to_written_);
    lci::free_comp(&arrived_);
    lci::free_comp(&written_);
    lci::free_comp(&sync_);
    lci::g_runtime_fina();
  }

  void work(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      const size_t n = bytes_of(round);
      fill(out_, n, salt, rank, round);
      send_and_receive(n, round);
      message(n, round);
      put(n, round);
    }
    lci::barrier();
  }

 private:
  void send_and_receive(size_t n, int round) {
    in_.assign(n, 0);
    const auto tag = static_cast<lci::tag_t>(round % 1000);
    const lci::status_t r = lci::post_recv(previous(), in_.data(), n, tag, sync_);
    lci::comp_t sent = lci::alloc_sync();
    lci::status_t s;
    while ((s = lci::post_send(next(), out_.data(), n, tag, sent)).is_retry()) lci::progress();
    if (r.is_posted()) lci::sync_wait(sync_, nullptr);
    if (s.is_posted()) lci::sync_wait(sent, nullptr);
    lci::free_comp(&sent);
    REQUIRE(is_filled(in_.data(), n, salt, previous(), round));
  }

  void message(size_t n, int round) {
    lci::comp_t sent = lci::alloc_sync();
    lci::status_t s;
    while ((s = lci::post_am(next(), out_.data(), n, sent, to_arrived_)).is_retry()) lci::progress();
    const lci::status_t got = lci::cq_wait_for(arrived_, -1);
    if (s.is_posted()) lci::sync_wait(sent, nullptr);
    lci::free_comp(&sent);
    REQUIRE(got.rank == previous() && got.size == n);
    REQUIRE(is_filled(static_cast<const unsigned char*>(got.buffer), n, salt, previous(), round));
    std::free(got.buffer);
  }

  void put(size_t n, int round) {
    lci::comp_t done = lci::alloc_sync();
    const lci::status_t s = lci::post_put_x(next(), out_.data(), n, done, 0, keys_[static_cast<size_t>(next())])
                                .remote_comp(to_written_)
                                .allow_retry(false)();
    const lci::status_t got = lci::cq_wait_for(written_, -1);
    if (s.is_posted()) lci::sync_wait(done, nullptr);
    lci::free_comp(&done);
    REQUIRE(got.rank == previous());
    REQUIRE(is_filled(window_.data(), n, salt, previous(), round));
    lci::barrier();  // so that all ranks have read their windows
  }

  lci::comp_t sync_, arrived_, written_;
  lci::rcomp_t to_arrived_ = 0, to_written_ = 0;
  lci::mr_t mr_;
  std::vector<lci::rmr_t> keys_;
  std::vector<unsigned char> window_, out_, in_;
};

}  // namespace

std::unique_ptr<participant> make_core() { return std::make_unique<core>(); }

}  // namespace together
