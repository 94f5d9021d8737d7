// One thread's end of a pair, on MPI's messages.
#pragma once

#define OMPI_SKIP_MPICXX  // MPI's old C++ names need a library of their own
#define MPICH_SKIP_MPICXX
#include <mpi.h>
#include <sched.h>

#include "bench/peers/two_sided.hpp"

namespace peers {

/// Used by one thread. `yield`: polls with MPI_Testall and yields the core in between, for MPIs in which a thread that
/// waits inside of the library hinders others, on the same core or in the same process.
class mpi_end {
 public:
  using request = MPI_Request;

  mpi_end(MPI_Comm comm, int partner, place where, bool yield)
      : comm_(comm),
        partner_(partner),
        out_(where.pair * 4 + (where.sends ? 0 : 1)),
        in_(where.pair * 4 + (where.sends ? 1 : 0)),
        ack_(where.pair * 4 + 2),
        yield_(yield) {}

  void post_send(const char* data, size_t size, request& r) {
    MPI_Isend(data, static_cast<int>(size), MPI_CHAR, partner_, out_, comm_, &r);
  }
  void post_recv(char* data, size_t size, request& r) {
    MPI_Irecv(data, static_cast<int>(size), MPI_CHAR, partner_, in_, comm_, &r);
  }
  void wait(request* all, size_t n) {
    if (!yield_) {
      MPI_Waitall(static_cast<int>(n), all, MPI_STATUSES_IGNORE);
      return;
    }
    int done = 0;
    while (MPI_Testall(static_cast<int>(n), all, &done, MPI_STATUSES_IGNORE), done == 0) sched_yield();
  }

  void send_now(const char* data, size_t size) { send(data, size, out_); }
  void recv_now(char* data, size_t size) { receive(data, size, in_); }
  void post_ack() { send(nullptr, 0, ack_); }
  void wait_ack() { receive(nullptr, 0, ack_); }

 private:
  void send(const char* data, size_t size, int tag) {
    if (!yield_) {
      MPI_Send(data, static_cast<int>(size), MPI_CHAR, partner_, tag, comm_);
      return;
    }
    request r;
    MPI_Isend(data, static_cast<int>(size), MPI_CHAR, partner_, tag, comm_, &r);
    wait(&r, 1);
  }
  void receive(char* data, size_t size, int tag) {
    if (!yield_) {
      MPI_Recv(data, static_cast<int>(size), MPI_CHAR, partner_, tag, comm_, MPI_STATUS_IGNORE);
      return;
    }
    request r;
    MPI_Irecv(data, static_cast<int>(size), MPI_CHAR, partner_, tag, comm_, &r);
    wait(&r, 1);
  }

  const MPI_Comm comm_;
  const int partner_, out_, in_, ack_;
  const bool yield_;
};

}  // namespace peers
