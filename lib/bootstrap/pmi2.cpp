// Ranks from a launcher's own PMI-2 library, loaded at run time: Slurm's (srun --mpi=pmi2), which also works with
// MPICH's mpiexec, or that of a machine whose launcher speaks no other protocol. Where PMI-1 would work it is used only
// if asked for by name.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "lci/errors.hpp"
#include "lib/base/loaded_library.hpp"
#include "lib/bootstrap/abort_message.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/mpi_process.hpp"
#include "lib/bootstrap/pmi1_value.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/bootstrap/session.hpp"
#include "lib/bootstrap/timed_calls.hpp"

namespace lci::network {

namespace pmi2 {

namespace {

// Values of the PMI-2 interface, the same in all implementations.
constexpr int pmi2_success = 0;
constexpr size_t pmi2_max_value = 1024;
constexpr size_t pmi2_max_job_id = 256;
// Keeps keys apart from those of an MPI that shares the launcher with us.
constexpr char key_prefix[] = "lci.";
constexpr char group[] = "PMI_FD, PMI_RANK and PMI_SIZE";

struct library {
  int (*init)(int* spawned, int* size, int* rank, int* appnum) = nullptr;
  int (*finalize)() = nullptr;
  int (*abort)(int flag, const char* message) = nullptr;
  int (*job_id)(char* id, int size) = nullptr;
  int (*put)(const char* key, const char* value) = nullptr;
  int (*fence)() = nullptr;
  int (*get)(const char* job, int rank, const char* key, char* value, int size, int* length) = nullptr;
};

library load() {
  loaded_library loaded({"libpmi2.so.0", "libpmi2.so"});
  library l;
  loaded.find("PMI2_Init", l.init);
  loaded.find("PMI2_Finalize", l.finalize);
  loaded.find("PMI2_Abort", l.abort);
  loaded.find("PMI2_Job_GetId", l.job_id);
  loaded.find("PMI2_KVS_Put", l.put);
  loaded.find("PMI2_KVS_Fence", l.fence);
  loaded.find("PMI2_KVS_Get", l.get);
  if (!loaded.missing().empty())
    throw bootstrap_error("no PMI-2 library: " + loaded.missing() +
                          "; install your launcher's (Slurm on Debian: libpmi2-0), or leave "
                          "LCI_ATTR_BOOTSTRAP unset");
  return l;
}

/// The results of a call. Shared, since the call may outlive its caller.
struct answer {
  int rc = 0;
  int rank = -1, size = -1, length = 0;
  std::array<char, pmi2_max_value + 1> text{};
};

class pmi2_bootstrap final : public bootstrap {
 public:
  pmi2_bootstrap() : library_(load()), calls_(bootstrap_timeout()) {
    // Outside of a job the library would report rank 0 of 1, so check the environment first.
    const int rank = need_number("PMI_RANK", 0, group), size = need_number("PMI_SIZE", 1, group);
    need_number("PMI_FD", 0, group);
    check_rank(rank, size, "PMI_RANK, PMI_SIZE");
    session_.describe("libpmi2", rank, size);
    session_.run("init", [&] {
      const auto a = call("PMI2_Init", [f = library_.init](answer& r) {
        int spawned = 0, appnum = 0;
        r.rc = f(&spawned, &r.size, &r.rank, &appnum);
      });
      if (a->rank != rank || a->size != size) {
        throw bootstrap_error("the PMI-2 library says rank " + std::to_string(a->rank) + " of " +
                              std::to_string(a->size) + "; it does not belong to this launcher");
      }
      const auto id =
          call("PMI2_Job_GetId", [f = library_.job_id](answer& r) { r.rc = f(r.text.data(), int(pmi2_max_job_id)); });
      job_id_ = id->text.data();
      if (job_id_.empty()) throw bootstrap_error("the launcher gave the job no name");
    });
    rank_ = rank;
    size_ = size;
  }

  ~pmi2_bootstrap() override {
    if (!session_.usable() || mpi_shares_launcher()) return;
    try {
      calls_.set_timeout(5);
      call("PMI2_Finalize", [f = library_.finalize](answer& r) { r.rc = f(); });
    } catch (const std::exception&) {
      // The launcher has ended or is ending: there is nothing to finalize. Or this rank has no memory to do it.
    }
  }

  const char* name() const override { return "pmi2"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string job_id() const override { return job_id_; }
  std::optional<host_place> locality() const override { return place_by_environment(); }

  void put(const std::string& key, const std::string& value) override {
    check_bootstrap_key("put", key);
    check_bootstrap_value(key, value);
    session_.run("put", [&] {
      const auto pieces = pmi1::to_pieces(value, piece_length);
      for (size_t i = 0; i < pieces.size(); ++i) {
        call("PMI2_KVS_Put",
             [f = library_.put, k = wire_key(key, i), v = pieces[i]](answer& r) { r.rc = f(k.c_str(), v.c_str()); });
      }
    });
  }

  std::string get(const std::string& key, int owner) override {
    check_bootstrap_key("get", key);
    std::optional<std::string> value;
    bool found = true;
    session_.run("get", [&] {
      std::vector<std::string> pieces;
      size_t count = 1;
      for (size_t i = 0; i < count; ++i) {
        const auto piece = get_piece(wire_key(key, i), owner);
        if (i == 0) {
          found = piece.has_value();
          if (!found) return;
          count = pmi1::piece_count(*piece).value_or(0);
        }
        if (!piece || count == 0) break;
        pieces.push_back(*piece);
      }
      value = pmi1::from_pieces(pieces);
      if (!value) {
        throw bootstrap_error("the launcher returned a garbled value for key '" + key + "'");
      }
    });
    if (!found) throw bootstrap_error(missing_key(key, owner));
    return *value;
  }

  void fence() override {
    session_.run("fence", [&] { call("PMI2_KVS_Fence", [f = library_.fence](answer& r) { r.rc = f(); }); });
  }

  void abort(int code, const std::string& message) override {
    announce_abort(rank_, code, message);
    try {
      if (session_.usable()) {
        calls_.set_timeout(5);
        call("PMI2_Abort", [f = library_.abort, message](answer& r) { f(1, message.c_str()); });
      }
    } catch (const std::exception&) {
      // The launcher has ended, or this rank has no memory for the message to it: exit all the same.
    }
    _exit(code);
  }

 private:
  static constexpr size_t piece_length = pmi2_max_value - 64;

  static std::string wire_key(const std::string& key, size_t piece) {
    std::string text = key_prefix + key;
    if (piece > 0) text += "+" + std::to_string(piece);
    return text;
  }

  template <class F>
  std::shared_ptr<answer> call(const char* function, F body, bool may_fail = false) {
    auto shared = std::make_shared<answer>();
    calls_.run([shared, body] { body(*shared); },
               std::string(function) + " has not returned in time; a rank may be late, stuck or " +
                   "gone, or the launcher; LCI_ATTR_BOOTSTRAP_TIMEOUT=<seconds> sets how long to wait");
    if (shared->rc != pmi2_success && !may_fail) {
      throw bootstrap_error(std::string(function) + " failed with " + std::to_string(shared->rc) +
                            "; the launcher may have ended the job");
    }
    return shared;
  }

  std::optional<std::string> get_piece(const std::string& key, int owner) {
    const auto a = call(
        "PMI2_KVS_Get",
        [f = library_.get, key, owner](answer& r) {
          r.rc = f(nullptr, owner, key.c_str(), r.text.data(), int(pmi2_max_value), &r.length);
        },
        true);
    if (a->rc != pmi2_success || a->length <= 0) return std::nullopt;
    return std::string(a->text.data(), strnlen(a->text.data(), a->text.size()));
  }

  const library library_;
  session session_{"pmi2"};
  timed_calls calls_;
  int rank_ = -1, size_ = -1;
  std::string job_id_;
};

bool detected() { return env_text("PMI_FD") != nullptr && env_text("PMI_RANK") != nullptr; }

std::unique_ptr<bootstrap> make() { return std::make_unique<pmi2_bootstrap>(); }

}  // namespace

}  // namespace pmi2

const bootstrap_kind pmi2_kind = {"pmi2", pmi2::detected, pmi2::make};

}  // namespace lci::network
