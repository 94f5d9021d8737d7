// ARMCI: puts, gets, accumulates and fetch-and-add.
#include <armci.h>

#include "tests/layers/together/participant.hpp"

namespace together {

namespace {

constexpr unsigned salt = 3;

class armci final : public participant {
 public:
  const char* name() const override { return "ARMCI"; }

  void begin() override {
    REQUIRE(ARMCI_Init() == 0);
    rank = armci_msg_me();
    size = armci_msg_nproc();
    parts_.resize(static_cast<size_t>(size));
    REQUIRE(ARMCI_Malloc(parts_.data(), static_cast<armci_size_t>(room + sizeof(numbers))) == 0);
    *mine() = {};
    counted_ = 0;
    ARMCI_Barrier();
  }

  void end() override {
    ARMCI_Barrier();
    REQUIRE(ARMCI_Free(parts_[static_cast<size_t>(rank)]) == 0);
    ARMCI_Finalize();
  }

  void work(int rounds) override {
    auto* const there = static_cast<unsigned char*>(parts_[static_cast<size_t>(next())]);
    for (int round = 0; round < rounds; ++round) {
      const size_t n = bytes_of(round);
      fill(out_, n, salt, rank, round);
      in_.assign(n, 0);
      if (n > 0) {
        REQUIRE(ARMCI_Put(out_.data(), there, static_cast<int>(n), next()) == 0);
        REQUIRE(ARMCI_Get(there, in_.data(), static_cast<int>(n), next()) == 0);
      }
      REQUIRE(in_ == out_);  // ordered: the get reads what the put has written
      double one = 1, scale = 2;
      REQUIRE(ARMCI_Acc(ARMCI_ACC_DBL, &scale, &one, &numbers_of(next())->sum, sizeof one, next()) == 0);
      long old = -1;
      REQUIRE(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, &numbers_of(0)->counter, 1, 0) == 0);
      REQUIRE(old >= 0);
    }
    counted_ += rounds;
    ARMCI_Barrier();  // fences, too
    REQUIRE(mine()->sum == 2.0 * counted_);
    REQUIRE(rank != 0 || mine()->counter == static_cast<long>(counted_) * size);
    ARMCI_Barrier();
  }

 private:
  static constexpr size_t room = 200000;
  struct numbers {
    double sum;
    long counter;
  };
  numbers* numbers_of(int proc) const {
    return reinterpret_cast<numbers*>(static_cast<char*>(parts_[static_cast<size_t>(proc)]) + room);
  }
  numbers* mine() const { return numbers_of(rank); }

  std::vector<void*> parts_;
  std::vector<unsigned char> out_, in_;
  int counted_ = 0;
};

}  // namespace

std::unique_ptr<participant> make_armci() { return std::make_unique<armci>(); }

}  // namespace together
