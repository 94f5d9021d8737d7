// LCI v1.7: medium and long messages, and puts to the default queue.
#include <lci.h>

#include <algorithm>

#include "tests/layers/together/participant.hpp"

namespace together {

namespace {

constexpr unsigned salt = 2;

template <class F>
void until_taken(F post) {
  LCI_error_t code;
  while ((code = post()) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  REQUIRE(code == LCI_OK);
}

class v1 final : public participant {
 public:
  const char* name() const override { return "LCI v1.7"; }

  void begin() override {
    REQUIRE(LCI_initialize() == LCI_OK);
    rank = LCI_RANK;
    size = LCI_NUM_PROCESSES;
    REQUIRE(LCI_sync_create(LCI_UR_DEVICE, 1, &one_) == LCI_OK);
    REQUIRE(LCI_sync_create(LCI_UR_DEVICE, 2, &two_) == LCI_OK);
  }

  void end() override {
    REQUIRE(LCI_barrier() == LCI_OK);
    REQUIRE(LCI_sync_free(&one_) == LCI_OK && LCI_sync_free(&two_) == LCI_OK);
    REQUIRE(LCI_finalize() == LCI_OK);
  }

  void work(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      const size_t n = bytes_of(round), medium = std::min(n, static_cast<size_t>(LCI_MEDIUM_SIZE));
      fill(out_, n, salt, rank, round);
      in_.assign(n, 0);
      send_medium(medium, round);
      send_long(n, round);
      put(medium, round);
    }
    REQUIRE(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
    REQUIRE(LCI_barrier() == LCI_OK);
  }

 private:
  void send_medium(size_t n, int round) {
    LCI_request_t r;
    const LCI_mbuffer_t in{in_.data(), n}, out{out_.data(), n};
    until_taken([&] { return LCI_recvm(LCI_UR_ENDPOINT, in, previous(), 3, one_, nullptr); });
    until_taken([&] { return LCI_sendm(LCI_UR_ENDPOINT, out, next(), 3); });
    REQUIRE(LCI_sync_wait(one_, &r) == LCI_OK && r.flag == LCI_OK && r.data.mbuffer.length == n);
    REQUIRE(is_filled(in_.data(), n, salt, previous(), round));
  }

  void send_long(size_t n, int round) {
    in_.assign(n, 0);
    LCI_request_t r[2];
    const LCI_lbuffer_t in{LCI_SEGMENT_ALL, in_.data(), n}, out{LCI_SEGMENT_ALL, out_.data(), n};
    until_taken([&] { return LCI_recvl(LCI_UR_ENDPOINT, in, previous(), 4, two_, nullptr); });
    until_taken([&] { return LCI_sendl(LCI_UR_ENDPOINT, out, next(), 4, two_, nullptr); });
    REQUIRE(LCI_sync_wait(two_, r) == LCI_OK && r[0].flag == LCI_OK && r[1].flag == LCI_OK);
    REQUIRE(is_filled(in_.data(), n, salt, previous(), round));
  }

  void put(size_t n, int round) {
    LCI_request_t r;
    const LCI_mbuffer_t out{out_.data(), n};
    until_taken([&] { return LCI_putma(LCI_UR_ENDPOINT, out, next(), 5, LCI_DEFAULT_COMP_REMOTE); });
    REQUIRE(LCI_queue_wait(LCI_UR_CQ, &r) == LCI_OK);
    REQUIRE(r.flag == LCI_OK && r.rank == previous() && r.data.mbuffer.length == n);
    REQUIRE(is_filled(static_cast<const unsigned char*>(r.data.mbuffer.address), n, salt, previous(), round));
    REQUIRE(LCI_mbuffer_free(r.data.mbuffer) == LCI_OK);
  }

  LCI_comp_t one_ = nullptr, two_ = nullptr;
  std::vector<unsigned char> out_, in_;
};

}  // namespace

std::unique_ptr<participant> make_v1() { return std::make_unique<v1>(); }

}  // namespace together
