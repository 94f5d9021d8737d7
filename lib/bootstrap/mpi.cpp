// Ranks from the MPI of this process: those of MPI_COMM_WORLD. A fence exchanges all that ranks have put since the
// last.
#include <unistd.h>

#include <cstring>
#include <map>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"
#include "lib/bootstrap/abort_message.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/meanwhile.hpp"
#include "lib/bootstrap/mpi_process.hpp"
#include "lib/bootstrap/session.hpp"

namespace lci::network {

namespace {

void append(std::string& bytes, const std::string& text) {
  const uint32_t size = static_cast<uint32_t>(text.size());
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
}

bool take(const std::string& bytes, size_t& at, std::string& text) {
  uint32_t size = 0;
  if (bytes.size() - at < sizeof size) return false;
  std::memcpy(&size, bytes.data() + at, sizeof size);
  at += sizeof size;
  if (size > bytes.size() - at) return false;
  text = bytes.substr(at, size);
  at += size;
  return true;
}

class mpi_bootstrap final : public bootstrap {
 public:
  mpi_bootstrap() : timeout_(bootstrap_timeout()) {
    std::string why;
    world_ = open_mpi_world(true, why);
    if (world_ == nullptr) throw bootstrap_error("mpi bootstrap: " + why);
    const int claimed = claimed_size();
    if (world_->size() == 1 && claimed > 1) {
      throw bootstrap_error("mpi bootstrap: MPI_COMM_WORLD has 1 rank, but the launcher has started " +
                            std::to_string(claimed) + ": it is not one for this MPI; use that MPI's own, or `srun " +
                            "--mpi=` as it needs, or force another LCI_ATTR_BOOTSTRAP");
    }
    session_.describe("MPI_COMM_WORLD", rank(), size());
    session_.run("init", [&] {
      // Rank 0 names the job. Its pid and the address of this object distinguish it from other jobs on the host; the
      // host name, from those on other hosts.
      char host[64] = "";
      gethostname(host, sizeof host - 1);
      char text[160];
      snprintf(text, sizeof text, "mpi_%s_%d_%p", host, getpid(), static_cast<void*>(this));
      job_id_ = exchange(rank() == 0 ? text : "").front();
    });
  }

  const char* name() const override { return "mpi"; }
  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  std::string job_id() const override { return job_id_; }
  std::optional<host_place> locality() const override { return host_place{world_->local_rank(), world_->local_size()}; }

  void put(const std::string& key, const std::string& value) override {
    check_bootstrap_key("put", key);
    check_bootstrap_value(key, value);
    std::string both;
    append(both, key);
    append(both, value);
    pending_ += both;
  }

  std::string get(const std::string& key, int owner) override {
    check_bootstrap_key("get", key);
    const auto it = visible_.find(key);
    if (it == visible_.end()) throw bootstrap_error(missing_key(key, owner));
    return it->second;
  }

  void fence() override {
    session_.run("fence", [&] {
      const auto all = exchange(pending_);
      session_.begin_exchange();  // a second one would wait for ranks that are not in it
      pending_.clear();
      insist_on_memory([&] {
        for (size_t r = 0; r < all.size(); ++r) keep(all[r], r);
      });
      session_.end_exchange();
    });
  }

  void abort(int code, const std::string& message) override {
    announce_abort(rank(), code, message);
    if (session_.usable() && world_->unusable_reason().empty()) world_->abort(code);
    _exit(code);
  }

 private:
  void keep(const std::string& bytes, size_t rank) {
    std::string key, value;
    for (size_t at = 0; at < bytes.size();) {
      if (!take(bytes, at, key) || !take(bytes, at, value)) {
        throw bootstrap_error("rank " + std::to_string(rank) + " sent invalid data; " +
                              "all ranks must run the same version of LCI");
      }
      visible_[key] = value;
    }
  }

  std::vector<std::string> exchange(const std::string& mine) {
    std::string why = world_->unusable_reason();
    std::vector<std::string> all;
    if (why.empty()) why = world_->allgather(mine, timeout_, work_meanwhile, all);
    if (!why.empty()) {
      throw bootstrap_error(why + " (LCI_ATTR_BOOTSTRAP_TIMEOUT=" + seconds_text(timeout_) + ")");
    }
    return all;
  }

  const double timeout_;
  session session_{"mpi"};
  std::unique_ptr<mpi_world> world_;
  std::string job_id_, pending_;
  std::map<std::string, std::string> visible_;
};

/// Only an MPI that is initialized counts. One that is only loaded may never be; then its launcher's variables lead to
/// the same ranks. So they do if there is no plug-in for it.
bool mpi_detected() { return find_mpi() == mpi_life::initialized && has_mpi_plugin(); }

std::unique_ptr<bootstrap> create_mpi() { return std::make_unique<mpi_bootstrap>(); }

}  // namespace

const bootstrap_kind mpi_kind = {"mpi", mpi_detected, create_mpi};

}  // namespace lci::network
