// CCS: ordered active messages with data and arguments, puts and gets with descriptions, atomics.
#include <ccs.h>

#include <atomic>

#include "tests/layers/together/participant.hpp"

namespace together {

namespace {

constexpr unsigned salt = 4;
constexpr size_t room = 200000;

std::atomic<int> handled{0};  // messages of the previous rank
void check_message(CCS_token_t token, void* data, unsigned length, int round, uint64_t bytes) {
  CCS_node_t from = 0;
  REQUIRE(CCS_sender_rank(token, &from) == CCS_SUCCESS);
  REQUIRE(length == bytes && round == handled.load());
  REQUIRE(is_filled(static_cast<const unsigned char*>(data), length, salt, static_cast<int>(from), round));
  ++handled;
}
void count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

class ccs final : public participant {
 public:
  const char* name() const override { return "CCS"; }

  void begin() override {
    REQUIRE(CCS_init() == CCS_SUCCESS);
    CCS_node_t number = 0;
    REQUIRE(CCS_get_rank(&number) == CCS_SUCCESS);
    rank = static_cast<int>(number);
    REQUIRE(CCS_get_size(&number) == CCS_SUCCESS);
    size = static_cast<int>(number);
    REQUIRE(CCS_new_context(&context_) == CCS_SUCCESS);
    REQUIRE(CCS_register_handler(context_, 0, check_message) == CCS_SUCCESS);
    REQUIRE(CCS_datadesc_create_vector(static_cast<int>(room / 16), 8, 16, CCS_DATA8, &half_) == CCS_SUCCESS);
    void* memory = nullptr;
    REQUIRE(CCS_malloc_symmetric(room + 8, &memory) == CCS_SUCCESS);
    window_ = static_cast<unsigned char*>(memory);
    *counter() = 0;
    counted_ = 0;
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
  }

  void end() override {
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
    REQUIRE(CCS_free_symmetric(window_) == CCS_SUCCESS);
    CCS_datadesc_free(&half_);
    REQUIRE(CCS_finalize() == CCS_SUCCESS);
  }

  void work(int rounds) override {
    handled = 0;
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
    const auto to = static_cast<CCS_node_t>(next());
    for (int round = 0; round < rounds; ++round) {
      const size_t n = bytes_of(round) % CCS_MAX_AM_LENGTH;
      fill(out_, n, salt, rank, round);
      REQUIRE(CCS_amrequest(context_, to, out_.data(), static_cast<unsigned>(n), CCS_DATA8, 0, 2, round, uint64_t{n}) ==
              CCS_SUCCESS);
      fill(out_, room / 2, salt, rank, round);
      transfer([&](auto done, void* arg) {
        return CCS_put(to, out_.data(), room / 2, CCS_DATA8, window_, 1, half_, done, arg);
      });
      in_.assign(room / 2, 0);
      transfer([&](auto done, void* arg) {
        return CCS_get(to, window_, 1, half_, in_.data(), room / 2, CCS_DATA8, done, arg);
      });
      REQUIRE(in_ == out_);
      CCS_atomic_type_t old = 0;
      transfer(
          [&](auto done, void* arg) { return CCS_atomic(0, CCS_ATOMIC_FETCHADD, counter(), 1, 0, &old, done, arg); });
    }
    counted_ += rounds;
    while (handled < rounds) CCS_poll();
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
    REQUIRE(rank != 0 || *counter() == static_cast<CCS_atomic_type_t>(counted_) * static_cast<unsigned>(size));
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
  }

 private:
  CCS_atomic_type_t* counter() const { return reinterpret_cast<CCS_atomic_type_t*>(window_ + room); }

  template <class F>
  static void transfer(F begin) {
    std::atomic<int> done{0};
    REQUIRE(begin(count, &done) == CCS_SUCCESS);
    while (done == 0) CCS_poll();
  }

  CCS_context_t context_ = 0;
  CCS_datadesc_t half_ = CCS_DATA_NULL;
  unsigned char* window_ = nullptr;
  std::vector<unsigned char> out_, in_;
  int counted_ = 0;
};

}  // namespace

std::unique_ptr<participant> make_ccs() { return std::make_unique<ccs>(); }

}  // namespace together
