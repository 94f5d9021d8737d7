// A job of one rank: nobody started this process together with others.
#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>

#include "lci/errors.hpp"
#include "network/bootstrap/kinds.hpp"
#include "network/bootstrap/pmi1_wire.hpp"

namespace lci::network {

namespace {

/// Keeps to the contract strictly (a put is visible after a fence only), so that a missing fence
/// is found with one rank already.
class local_bootstrap final : public bootstrap {
 public:
  local_bootstrap() {
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random) {
      timespec now{};
      clock_gettime(CLOCK_REALTIME, &now);
      random[0] = static_cast<uint64_t>(now.tv_sec);
      random[1] = static_cast<uint64_t>(now.tv_nsec);
    }
    char text[80];
    snprintf(text, sizeof text, "local_%d_%016llx%016llx", getpid(),
             static_cast<unsigned long long>(random[0]),
             static_cast<unsigned long long>(random[1]));
    job_id_ = text;
  }

  const char* name() const override { return "local"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string job_id() const override { return job_id_; }

  void put(const std::string& key, const std::string& value) override { pending_[key] = value; }

  std::string get(const std::string& key) override {
    const auto it = visible_.find(key);
    if (it == visible_.end()) {
      throw bootstrap_error("bootstrap: no rank has put key '" + key + "' before the last fence");
    }
    return it->second;
  }

  void fence() override {
    for (auto& [key, value] : pending_) visible_[key] = std::move(value);
    pending_.clear();
  }

  void abort(int code, const std::string& message) override {
    const std::string text = "lci: abort with code " + std::to_string(code) + ": " + message + "\n";
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    _exit(code);
  }

 private:
  std::string job_id_;
  std::map<std::string, std::string> pending_, visible_;
};

bool more_than_one(const char* variable) {
  const char* text = env_text(variable);
  return text != nullptr && pmi1::parse_int(text).value_or(0) > 1;
}

/// N processes that each take themselves for rank 0 of 1 would be a silent disaster, so traces of
/// a launcher that none of the kinds can use are an error. (SLURM_JOB_ID alone is no such trace:
/// a batch script has it too.)
bool local_detected() {
  const bool ompi = more_than_one("OMPI_COMM_WORLD_SIZE");
  const bool slurm = more_than_one("SLURM_STEP_NUM_TASKS");
  const bool pmix = env_text("PMIX_RANK") != nullptr &&
                    env_text("OMPI_COMM_WORLD_SIZE") == nullptr &&
                    env_text("SLURM_STEP_NUM_TASKS") == nullptr;
  if (!ompi && !slurm && !pmix) return true;
  const char* variable = ompi    ? "OMPI_COMM_WORLD_SIZE"
                         : slurm ? "SLURM_STEP_NUM_TASKS"
                                 : "PMIX_RANK";
  throw bootstrap_error(std::string("a launcher has started this process as one of several (") +
                        variable + "=" + pmi1::printable(env_text(variable)) +
                        " is set), but left no PMI-1 connection (PMI_FD or PMI_PORT) to learn the "
                        "rank from; " +
                        bootstrap_remedy);
}

std::unique_ptr<bootstrap> create_local() { return std::make_unique<local_bootstrap>(); }

}  // namespace

const bootstrap_kind local_kind = {"local", local_detected, create_local};

}  // namespace lci::network
