// One-sided operations by MPI, in a passive epoch that lasts as long as the window.
#pragma once

#include "bench/peers/mpi_end.hpp"
#include "bench/peers/one_sided.hpp"

namespace peers {

class mpi_window {
 public:
  mpi_window(size_t bytes, int partner) : partner_(partner), local_(lci_perf::make_page_buffer(bytes, 1)) {
    MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine_, &window_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    constexpr int n = lci_perf::block_rows;
    MPI_Type_vector(n, n, lci_perf::matrix_rows, MPI_DOUBLE, &block_);
    MPI_Type_commit(&block_);
  }
  ~mpi_window() {
    MPI_Type_free(&block_);
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  mpi_window(const mpi_window&) = delete;
  mpi_window& operator=(const mpi_window&) = delete;

  char* mine() { return mine_; }
  char* local() { return local_.get(); }
  void sync() { MPI_Win_sync(window_); }

  void put(size_t size) {
    const int n = static_cast<int>(size);
    MPI_Put(local_.get(), n, MPI_CHAR, partner_, 0, n, MPI_CHAR, window_);
  }
  void get(size_t size) {
    const int n = static_cast<int>(size);
    MPI_Get(local_.get(), n, MPI_CHAR, partner_, 0, n, MPI_CHAR, window_);
  }
  void fetch_add() { MPI_Fetch_and_op(&one_, &before_, MPI_UINT64_T, partner_, 0, MPI_SUM, window_); }
  void put_block() { MPI_Put(local_.get(), 1, block_, partner_, 0, 1, block_, window_); }
  void complete() { MPI_Win_flush(partner_, window_); }

  void put_signal(size_t size) {
    put(size);
    complete();
    MPI_Send(nullptr, 0, MPI_CHAR, partner_, 0, MPI_COMM_WORLD);
  }
  void await_signal() {
    MPI_Recv(nullptr, 0, MPI_CHAR, partner_, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sync();
  }

 private:
  const int partner_;
  const lci_perf::page_buffer local_;
  char* mine_ = nullptr;
  uint64_t one_ = 1, before_ = 0;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Datatype block_ = MPI_DATATYPE_NULL;
};

}  // namespace peers
