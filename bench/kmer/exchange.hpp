// The MPI version of examples/kmer_count/exchange.hpp: the rest of that program is compiled with this header instead.
// Sends aggregated batches by MPI_Isend; a few receives are always posted.
#pragma once

#define OMPI_SKIP_MPICXX  // MPI's old C++ names need a library of their own
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "options.hpp"
#include "receiver.hpp"
#include "worker.hpp"

namespace kmer_count {

/// Threads with the same index communicate over their own communicator (or, by option, over one for all threads, in
/// which tags distinguish the threads). Same members as the class that it replaces.
class exchange {
 public:
  explicit exchange(const program_options& options);
  ~exchange();
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  [[noreturn]] void fail(const char* what) const;

  int rank() const { return rank_; }
  int nranks() const { return nranks_; }
  size_t batch_capacity() const { return batch_capacity_; }
  size_t max_control_size() const { return message_size_; }

  void set_receiver(receiver* r) { receiver_ = r; }
  void attach(worker&) {}

  void send_batch(worker& w, int rank, size_t traversal, batch* b);
  void send_control(worker& w, int rank, const void* bytes, size_t size);

  bool progress(worker& w) { return progress(w, *ports_[w.index]); }
  bool progress_all(worker& w);

  void finish(worker& w);

 private:
  static constexpr size_t receives = 16, most_sends = 64;  // of a thread, posted at a time
  enum : int { control_tag = max_traversals, kinds };

  /// The buffer of a send in progress: a batch, or the bytes of a control message.
  struct outgoing {
    batch* batch_sent = nullptr;
    std::unique_ptr<char[]> control_bytes;
  };
  /// One thread's receives and sends.
  struct port {
    MPI_Comm comm = MPI_COMM_NULL;
    int first_tag = 0;
    std::vector<std::unique_ptr<char[]>> buffers;
    std::vector<MPI_Request> incoming, requests;
    std::vector<outgoing> sent;  // the buffers of `requests`
  };

  bool progress(worker& w, port& p);
  bool receive(worker& w, port& p);
  bool reap(port& p);
  void post_receive(port& p, size_t i);
  void send(worker& w, int rank, int tag, outgoing what, const void* bytes, size_t size);

  receiver* receiver_ = nullptr;
  int rank_ = 0, nranks_ = 1;
  size_t batch_capacity_ = 0, message_size_ = 0;
  bool own_comms_ = false;
  std::vector<std::unique_ptr<port>> ports_;
};

}  // namespace kmer_count
