// All calls of MPI: compiled and linked once for each MPI, and loaded into processes that use that MPI.
#define OMPI_SKIP_MPICXX  // MPI's old C++ names need a library of their own
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/memory.hpp"
#include "lib/bootstrap/mpi_world.hpp"

namespace lci::network {

namespace {

constexpr int tag_arrived = 1, tag_verdict = 2;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  return size;
}

bool flag_of(int (*ask)(int*)) {
  int flag = 0;
  return ask(&flag) == MPI_SUCCESS && flag != 0;
}

/// A deadline for polling loops that yield the core, then sleep: ranks may share few cores.
class watch {
 public:
  watch(double timeout, bool (*meanwhile)()) : timeout_(timeout), meanwhile_(meanwhile) {}

  /// Polls `ready()` until it is true. Returns false if the timeout expired.
  template <class F>
  bool until(F&& ready) const {
    for (int round = 0; !ready(); ++round) {
      if (timeout_ > 0 && clock::now() - begin_ > std::chrono::duration<double>(timeout_)) {
        return false;
      }
      (void)meanwhile_();
      if (round < 100) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    return true;
  }

  bool done(MPI_Request& request) const {
    return until([&] {
      int flag = 0;
      return MPI_Test(&request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0;
    });
  }

 private:
  using clock = std::chrono::steady_clock;
  const double timeout_;
  bool (*const meanwhile_)();
  const clock::time_point begin_ = clock::now();
};

class world final : public mpi_world {
 public:
  world() {
    // A communicator of our own keeps our messages and errors apart from the program's.
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm host;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    rank_ = rank_in(comm_);
    size_ = size_of(comm_);
    local_rank_ = rank_in(host);
    local_size_ = size_of(host);
    MPI_Comm_free(&host);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  std::string unusable_reason() const override {
    if (flag_of(MPI_Finalized)) {
      return "MPI_Finalize has been called; make runtimes and devices before it";
    }
    int level = MPI_THREAD_SINGLE, main = 0;
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&main);
    if (level < MPI_THREAD_SERIALIZED && main == 0) {
      return "this thread is not the one that called MPI_Init, which allows no other; make runtimes "
             "and devices there, or ask MPI_Init_thread for MPI_THREAD_SERIALIZED";
    }
    return {};
  }

  std::string allgather(const std::string& mine, double timeout, bool (*meanwhile)(),
                        std::vector<std::string>& all) override {
    const std::string missing = rank_ == 0 ? gather_arrivals(timeout, meanwhile) : report_arrival(timeout, meanwhile);
    if (!missing.empty()) return missing;
    // All ranks have arrived, so the collectives below end unless a rank dies.
    const watch time(timeout, meanwhile);
    int own = static_cast<int>(mine.size());
    std::vector<int> sizes, begins;
    insist_on_memory([&] {
      sizes.resize(count());
      begins.resize(count());
    });
    MPI_Request request;
    MPI_Iallgather(&own, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm_, &request);
    if (!time.done(request)) return "a rank has not gone on after it had come to the fence";
    int64_t total = 0;
    for (size_t r = 0; r < count(); ++r) {
      begins[r] = static_cast<int>(total);
      total += sizes[r];
      if (sizes[r] < 0 || total > INT_MAX) return "the ranks' values exceed 2 GiB together";
    }
    std::string bytes;
    insist_on_memory([&] { bytes.resize(static_cast<size_t>(total)); });
    MPI_Iallgatherv(mine.data(), own, MPI_BYTE, bytes.data(), sizes.data(), begins.data(), MPI_BYTE, comm_, &request);
    if (!time.done(request)) return "a rank has not gone on after it had come to the fence";
    insist_on_memory([&] {
      all.clear();
      for (size_t r = 0; r < count(); ++r)
        all.push_back(bytes.substr(static_cast<size_t>(begins[r]), static_cast<size_t>(sizes[r])));
    });
    return {};
  }

  void abort(int code) override { MPI_Abort(MPI_COMM_WORLD, code); }

 private:
  size_t count() const { return static_cast<size_t>(size_); }

  /// Rank 0 collects which ranks have arrived, which a collective would not tell, and sends the others the result.
  std::string gather_arrivals(double timeout, bool (*meanwhile)()) {
    const watch time(timeout, meanwhile);
    std::vector<MPI_Request> requests(count(), MPI_REQUEST_NULL);
    for (int r = 1; r < size_; ++r) {
      MPI_Irecv(nullptr, 0, MPI_BYTE, r, tag_arrived, comm_, &requests[static_cast<size_t>(r)]);
    }
    int all = 0;
    time.until([&] {
      const int rc = MPI_Testall(size_, requests.data(), &all, MPI_STATUSES_IGNORE);
      return rc != MPI_SUCCESS || all != 0;
    });
    std::string text;
    int n_missing = 0;
    if (all == 0) {
      for (int r = 1; r < size_; ++r) {
        MPI_Request& request = requests[static_cast<size_t>(r)];
        int flag = 1;
        if (request != MPI_REQUEST_NULL) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (flag != 0) continue;
        if (++n_missing <= 8) text += (text.empty() ? "" : ", ") + std::to_string(r);
      }
      text = "of " + std::to_string(size_) + " ranks " + std::to_string(n_missing) +
             " did not come to the fence in time: " + text + (n_missing > 8 ? ", ..." : "");
    }
    std::vector<MPI_Request> told;
    for (int r = 1; r < size_; ++r) {
      if (requests[static_cast<size_t>(r)] != MPI_REQUEST_NULL) continue;
      MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, r, tag_verdict, comm_, &told.emplace_back());
    }
    for (MPI_Request& request : told) watch(timeout, meanwhile).done(request);
    return text;
  }

  std::string report_arrival(double timeout, bool (*meanwhile)()) {
    // Rank 0 may arrive later than this rank, and then waits for its own full timeout.
    const watch time(timeout > 0 ? 2 * timeout + 1 : 0, meanwhile);
    MPI_Request request;
    MPI_Isend(nullptr, 0, MPI_BYTE, 0, tag_arrived, comm_, &request);
    int flag = 0;
    MPI_Status status;
    time.until([&] { return MPI_Iprobe(0, tag_verdict, comm_, &flag, &status) != MPI_SUCCESS || flag != 0; });
    if (flag == 0) return "rank 0 did not come to the fence in time";
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    std::string text(static_cast<size_t>(length), '\0');
    MPI_Recv(text.data(), length, MPI_BYTE, 0, tag_verdict, comm_, MPI_STATUS_IGNORE);
    watch(timeout, meanwhile).done(request);
    return text;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;  // freed by MPI_Finalize
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
};

/// For an MPI that LCI has initialized: the program did not call MPI_Init, so it won't call MPI_Finalize.
void finalize_at_exit() {
  if (!flag_of(MPI_Finalized)) MPI_Finalize();
}

}  // namespace

}  // namespace lci::network

extern "C" __attribute__((visibility("default"))) std::unique_ptr<lci::network::mpi_world> lci_mpi_plugin_2(
    bool initialize, std::string& why) {
  using namespace lci::network;
  if (flag_of(MPI_Finalized)) {
    why = "MPI_Finalize has been called already; make the first runtime before it";
    return nullptr;
  }
  if (!flag_of(MPI_Initialized)) {
    if (!initialize) {
      why = "MPI_Init has not been called";
      return nullptr;
    }
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
    std::atexit(finalize_at_exit);
  }
  return std::make_unique<world>();
}
