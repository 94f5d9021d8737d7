// Ranks from a launcher that speaks PMIx: Open MPI's mpirun, PRRTE, srun --mpi=pmix. The library is loaded when needed.
// It counts its users, so an MPI in this process may use it as well.
#include <pmix.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "lci/errors.hpp"
#include "lib/base/loaded_library.hpp"
#include "lib/bootstrap/abort_message.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/pmix_environment.hpp"
#include "lib/bootstrap/session.hpp"
#include "lib/bootstrap/timed_calls.hpp"

namespace lci::network {

namespace pmix {

namespace {

constexpr char key_prefix[] = "lci.";
// With more ranks, a fence does not collect values: each stays at its owner until a get() fetches it.
constexpr int collect_up_to = 4096;

struct library {
  decltype(&::PMIx_Init) init = nullptr;
  decltype(&::PMIx_Finalize) finalize = nullptr;
  decltype(&::PMIx_Abort) abort = nullptr;
  decltype(&::PMIx_Put) put = nullptr;
  decltype(&::PMIx_Commit) commit = nullptr;
  decltype(&::PMIx_Fence) fence = nullptr;
  decltype(&::PMIx_Get) get = nullptr;
  decltype(&::PMIx_Error_string) error_string = nullptr;
  void (*value_destruct)(pmix_value_t*) = nullptr;
};

library load() {
  loaded_library loaded({"libpmix.so.2"}, RTLD_NOW | RTLD_GLOBAL);  // global: for the plug-ins that it loads
  library l;
  loaded.find("PMIx_Init", l.init);
  loaded.find("PMIx_Finalize", l.finalize);
  loaded.find("PMIx_Abort", l.abort);
  loaded.find("PMIx_Put", l.put);
  loaded.find("PMIx_Commit", l.commit);
  loaded.find("PMIx_Fence", l.fence);
  loaded.find("PMIx_Get", l.get);
  loaded.find("PMIx_Error_string", l.error_string);
  loaded.find("PMIx_Value_destruct", l.value_destruct);
  if (!loaded.missing().empty())
    throw bootstrap_error("no PMIx library: " + loaded.missing() + "; install it (Debian: libpmix2)");
  return l;
}

pmix_info_t flag_info(const char* key, bool value) {
  pmix_info_t info;
  std::memset(&info, 0, sizeof info);
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = value;
  return info;
}

/// The results of a call. Shared, since the call may outlive its caller.
struct answer {
  pmix_status_t status = PMIX_SUCCESS;
  pmix_proc_t process{};
  bool found = false;
  uint64_t number = 0;
  std::string bytes;
};

class pmix_bootstrap final : public bootstrap {
 public:
  pmix_bootstrap() : library_(load()), calls_(bootstrap_timeout()) {
    const int rank = need_number("PMIX_RANK", 0, pmix_variables);
    const std::string where = "PMIX_NAMESPACE=" + need_text("PMIX_NAMESPACE", pmix_variables);
    session_.describe(where, rank, -1);
    session_.run("init", [&] {
      own_ = call("PMIx_Init", [f = library_.init](answer& a) { a.status = f(&a.process, nullptr, 0); })->process;
      const auto size = number_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
      if (!size) throw bootstrap_error("the launcher does not say how many ranks there are");
      rank_ = static_cast<int>(own_.rank);
      size_ = static_cast<int>(*size);
      check_rank(rank_, size_, "what the launcher says through PMIx");
      const auto local_size = number_of(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
      const auto local_rank = number_of(own_.rank, PMIX_LOCAL_RANK);
      if (local_rank && local_size && *local_rank < *local_size) {
        place_ = host_place{static_cast<int>(*local_rank), static_cast<int>(*local_size)};
      }
    });
    session_.describe(where, rank_, size_);
  }

  ~pmix_bootstrap() override {
    if (!session_.usable()) return;
    try {
      calls_.set_timeout(5);
      call("PMIx_Finalize", [f = library_.finalize](answer& a) { a.status = f(nullptr, 0); });
    } catch (const std::exception&) {
      // The launcher has ended or is ending: there is nothing to finalize. Or this rank has no memory to do it.
    }
  }

  const char* name() const override { return "pmix"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string job_id() const override { return own_.nspace; }
  std::optional<host_place> locality() const override { return place_; }

  void put(const std::string& key, const std::string& value) override {
    check_bootstrap_key("put", key);
    check_bootstrap_value(key, value);
    session_.run("put", [&] {
      call("PMIx_Put", [f = library_.put, k = key_prefix + key, bytes = value](answer& a) mutable {
        pmix_value_t v;
        std::memset(&v, 0, sizeof v);
        v.type = PMIX_BYTE_OBJECT;
        bytes += '\n';  // some versions lose empty objects
        v.data.bo.bytes = bytes.data();
        v.data.bo.size = bytes.size();
        a.status = f(PMIX_GLOBAL, k.c_str(), &v);
      });
    });
  }

  std::string get(const std::string& key, int owner) override {
    check_bootstrap_key("get", key);
    std::shared_ptr<answer> a;
    session_.run("get", [&] {
      a = read(static_cast<pmix_rank_t>(owner), key_prefix + key);
      if (!a->found) return;
      if (a->bytes.empty() || a->bytes.back() != '\n') {
        throw bootstrap_error("the launcher returned a garbled value for key '" + key + "'");
      }
      a->bytes.pop_back();
    });
    if (!a->found) throw bootstrap_error(missing_key(key, owner));
    return a->bytes;
  }

  void fence() override {
    session_.run("fence", [&] {
      call("PMIx_Commit", [f = library_.commit](answer& a) { a.status = f(); });
      call("PMIx_Fence", [f = library_.fence, collect = size_ <= collect_up_to](answer& a) {
        const pmix_info_t info = flag_info(PMIX_COLLECT_DATA, collect);
        a.status = f(nullptr, 0, &info, 1);
      });
    });
  }

  void abort(int code, const std::string& message) override {
    announce_abort(rank_, code, message);
    try {
      if (session_.usable()) {
        calls_.set_timeout(5);
        call("PMIx_Abort",
             [f = library_.abort, code, message](answer& a) { a.status = f(code, message.c_str(), nullptr, 0); });
      }
    } catch (const std::exception&) {
      // The launcher has ended, or this rank has no memory for the message to it: exit all the same.
    }
    _exit(code);
  }

 private:
  template <class F>
  std::shared_ptr<answer> call(const char* function, F body, bool may_fail = false) {
    auto shared = std::make_shared<answer>();
    calls_.run([shared, body]() mutable { body(*shared); },
               std::string(function) + " has not returned in time; a rank may be late, stuck or " +
                   "gone, or the launcher; LCI_ATTR_BOOTSTRAP_TIMEOUT=<seconds> sets how long to wait");
    if (shared->status != PMIX_SUCCESS && !may_fail) {
      throw bootstrap_error(std::string(function) + ": " + library_.error_string(shared->status) +
                            "; the launcher or another rank may be gone, or this process was started by a rank "
                            "instead of by the launcher: then unset PMIX_NAMESPACE and PMIX_RANK");
    }
    return shared;
  }

  std::shared_ptr<answer> read(pmix_rank_t rank, const std::string& key) {
    const bool collected = size_ <= collect_up_to;
    return call(
        "PMIx_Get",
        [l = library_, own = own_, rank, key, collected](answer& a) {
          pmix_proc_t process = own;
          process.rank = rank;
          // Without this, PMIx_Get waits for a key that was never put.
          const pmix_info_t at_once = flag_info(PMIX_IMMEDIATE, collected);
          pmix_value_t* value = nullptr;
          a.status = l.get(&process, key.c_str(), &at_once, 1, &value);
          if (a.status != PMIX_SUCCESS || value == nullptr) return;
          a.found = true;
          switch (value->type) {
            case PMIX_UINT16:
              a.number = value->data.uint16;
              break;
            case PMIX_UINT32:
              a.number = value->data.uint32;
              break;
            case PMIX_UINT64:
              a.number = value->data.uint64;
              break;
            case PMIX_INT:
              a.number = static_cast<uint64_t>(value->data.integer);
              break;
            case PMIX_BYTE_OBJECT:
              if (value->data.bo.bytes != nullptr) {
                a.bytes.assign(value->data.bo.bytes, value->data.bo.size);
              }
              break;
            default:
              a.found = false;
          }
          l.value_destruct(value);
          std::free(value);
        },
        true);
  }

  std::optional<uint64_t> number_of(pmix_rank_t rank, const char* key) {
    const auto a = read(rank, key);
    if (!a->found || a->number > INT_MAX) return std::nullopt;
    return a->number;
  }

  const library library_;
  session session_{"pmix"};
  timed_calls calls_;
  pmix_proc_t own_{};
  int rank_ = -1, size_ = 0;
  std::optional<host_place> place_;
};

std::unique_ptr<bootstrap> make() { return std::make_unique<pmix_bootstrap>(); }

}  // namespace

}  // namespace pmix

const bootstrap_kind pmix_kind = {"pmix", pmix_detected, pmix::make};

}  // namespace lci::network
