// MPI: sends, receives and a reduction. A process can initialize and finalize MPI only once.
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include "tests/layers/together/participant.hpp"

namespace together {

namespace {

constexpr unsigned salt = 6;

class mpi final : public participant {
 public:
  const char* name() const override { return "MPI"; }

  void begin() override {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    REQUIRE(provided >= MPI_THREAD_SERIALIZED);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }

  void end() override { MPI_Finalize(); }

  void work(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      const size_t n = bytes_of(round);
      fill(out_, n, salt, rank, round);
      in_.assign(n, 0);
      MPI_Sendrecv(out_.data(), static_cast<int>(n), MPI_BYTE, next(), 1, in_.data(), static_cast<int>(n), MPI_BYTE,
                   previous(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      REQUIRE(is_filled(in_.data(), n, salt, previous(), round));
      long mine = rank + round, sum = 0;
      MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
      REQUIRE(sum == static_cast<long>(size) * (size - 1) / 2 + static_cast<long>(size) * round);
    }
  }

 private:
  std::vector<unsigned char> out_, in_;
};

}  // namespace

std::unique_ptr<participant> make_mpi() { return std::make_unique<mpi>(); }

}  // namespace together
