#include "lib/bootstrap/bootstrap.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lci/errors.hpp"
#include "lib/base/call_watch.hpp"
#include "lib/base/log.hpp"
#include "lib/bootstrap/abort_message.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/session.hpp"

namespace lci::network {

namespace {

constexpr char no_launcher[] = "none";
constexpr double default_timeout = 60;
double timeout = default_timeout;
constexpr char name_variable[] = "LCI_ATTR_BOOTSTRAP", list_variable[] = "LCT_PMI_BACKEND";

double parse_timeout() {
  for (const char* variable : {"LCI_ATTR_BOOTSTRAP_TIMEOUT", "LCT_PMI_TCP_TIMEOUT_SEC"}) {
    const char* text = env_text(variable);
    if (text == nullptr) continue;
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (end == text || *end != '\0' || !std::isfinite(seconds) || seconds < 0) {
      throw option_error(std::string(variable) + "=" + text +
                         " is not a number of seconds; use e.g. 60, or 0 to wait for ever");
    }
    return seconds;
  }
  return default_timeout;
}

const bootstrap_kind& kind_named(const std::string& name, const std::string& variable) {
  std::string names;
  for (const bootstrap_kind* kind : bootstrap_kinds()) {
    if (name == kind->name) return *kind;
    names += (names.empty() ? "" : ", ") + std::string(kind->name);
  }
  if (variable == name_variable) names += ", " + std::string(no_launcher);
  throw option_error(variable + "=" + name + " is not a kind of bootstrap; there are " + names +
                     " (unset it to choose by the environment)");
}

int launched_size() { return std::max(claimed_size(), env_number("PMI_SIZE").value_or(1)); }

/// Prevents that N processes silently become N jobs of one rank.
void warn_of_one_rank(const std::string& list, bool names_file) {
  const int n = launched_size();
  std::string why;
  if (n > 1)
    why = " names no way to learn the rank but `local`, and a launcher has started " + std::to_string(n) + " ranks";
  else if (names_file)
    why = " names `file`, but LCT_PMI_FILE_NRANKS is not set";
  if (!why.empty()) log_warning(std::string(list_variable) + "=" + list + why + ": this process is a job of one rank");
}

/// The kinds in `list`, the value of LCT_PMI_BACKEND.
std::vector<const bootstrap_kind*> listed_kinds(const std::string& list) {
  std::vector<const bootstrap_kind*> kinds;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find_first_of(",;", at), list.size());
    if (end > at) kinds.push_back(&kind_named(list.substr(at, end - at), list_variable));
    at = end + 1;
  }
  return kinds;
}

/// Tries the bootstraps that LCT_PMI_BACKEND lists, in their order, and returns the first one that works. It skips
/// those for which the launcher has set no variables. Others may fail: a launcher may set the variables of PMI-2 and
/// speak PMI-1 only, or the library of a protocol may not be installed.
std::unique_ptr<bootstrap> create_first_of(const std::string& list) {
  const std::vector<const bootstrap_kind*> kinds = listed_kinds(list);
  bool names_file = false;
  std::exception_ptr failure;
  std::string failure_text;
  for (const bootstrap_kind* kind : kinds) {
    // `local` would make N jobs of a launcher's N processes, so it is not tried after a kind that has failed.
    if (failure != nullptr && kind == &local_kind) break;
    const bool found = kind->detected();
    names_file = names_file || kind == &file_kind;
    if (!found) continue;
    if (failure != nullptr) log_warning(failure_text + "; " + kind->name + " is tried instead");
    // `local` counts as chosen if it is first in the list; behind others it is the fallback.
    if (kind == &local_kind && kind != kinds.front()) warn_of_one_rank(list, names_file);
    try {
      return kind->create();
    } catch (const bootstrap_error& error) {
      failure = std::current_exception();
      failure_text = std::string(list_variable) + "=" + list + ": " + kind->name + " can't be used: " + error.what();
      session::allow_another();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  throw bootstrap_error(std::string(list_variable) + "=" + list +
                        " names no way to learn the rank for which the environment has variables" +
                        (names_file ? " (`file` needs LCT_PMI_FILE_NRANKS)" : "") + ": " + bootstrap_remedy);
}

std::unique_ptr<bootstrap> create_bootstrap(const std::string& name) {
  if (!name.empty()) return kind_named(name, name_variable).create();
  if (const char* list = env_text(list_variable)) return create_first_of(list);
  check_contradictions();
  for (const bootstrap_kind* kind : bootstrap_kinds())
    if (kind->detected()) return kind->create();
  return local_kind.create();
}

/// The process's bootstrap, which is never freed: a program may free its last runtime in a destructor or a function of
/// atexit() that is called after this library's destructors. By then the session with the launcher has ended.
class process_wide_bootstrap final : public bootstrap {
 public:
  explicit process_wide_bootstrap(std::unique_ptr<bootstrap> of_kind)
      : of_kind_(std::move(of_kind)),
        name_(of_kind_->name()),
        rank_(of_kind_->rank()),
        size_(of_kind_->size()),
        job_id_(of_kind_->job_id()) {}

  const char* name() const override { return name_; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string job_id() const override { return job_id_; }
  std::optional<host_place> locality() const override {
    return of_kind_ != nullptr ? of_kind_->locality() : std::nullopt;
  }
  void put(const std::string& key, const std::string& value) override { open().put(key, value); }
  std::string get(const std::string& key, int owner) override { return open().get(key, owner); }
  std::vector<std::string> get_all(const std::string& prefix) override { return open().get_all(prefix); }
  void fence() override { open().fence(); }
  void abort(int code, const std::string& message) override {
    if (of_kind_ != nullptr) of_kind_->abort(code, message);
    announce_abort(rank_, code, message);
    _exit(code);
  }

  /// Its destructor ends the session with the launcher, except in a forked child, which must not do that.
  struct end_at_exit {
    process_wide_bootstrap& of;
    ~end_at_exit() {
      if (!watched_for(process_was_forked)) of.of_kind_.reset();
    }
  };

 private:
  bootstrap& open() const {
    if (of_kind_ != nullptr) return *of_kind_;
    throw bootstrap_error(
        "the session with the launcher has ended, as the process is ending; free runtimes before main() returns");
  }

  std::unique_ptr<bootstrap> of_kind_;
  const char* name_;
  int rank_, size_;
  std::string job_id_;
};

}  // namespace

const std::vector<const bootstrap_kind*>& bootstrap_kinds() {
  // A running MPI comes first: it knows the ranks, and a second session with its launcher is best avoided. Launchers
  // follow, ours and those that speak PMI-1 first: PMI-1 needs no library and starts fastest. pmi2 is detected by the
  // same variables as PMI-1, so it is only used if forced. tcp's variables may be set without a launcher, and file's
  // next to those of a launcher. local accepts any environment, so it is last.
  static const std::vector<const bootstrap_kind*> kinds = {&mpi_kind, &pmi1_kind, &pmi2_kind, &pmix_kind,
                                                           &tcp_kind, &file_kind, &local_kind};
  return kinds;
}

std::vector<const bootstrap_kind*> bootstraps_to_try(const std::string& name) {
  if (name == no_launcher) return {&local_kind};
  if (!name.empty()) return {&kind_named(name, name_variable)};
  const char* list = env_text(list_variable);
  return list != nullptr ? listed_kinds(list) : bootstrap_kinds();
}

double bootstrap_timeout() { return timeout; }

void warn_of_separate_jobs(const std::string& backend) {
  static std::atomic_flag warned = ATOMIC_FLAG_INIT;
  const int n = launched_size();
  if (n > 1 && !warned.test_and_set(std::memory_order_relaxed))
    log_warning("backend " + backend +
                " has all ranks of a job in one process: this process is a job of its own, although a "
                "launcher has started " +
                std::to_string(n) + "; another backend (LCI_ATTR_BACKEND) makes them one job");
}

std::vector<std::string> bootstrap::get_all(const std::string& prefix) {
  std::vector<std::string> all;
  all.reserve(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) all.push_back(get(prefix + std::to_string(r), r));
  return all;
}

bootstrap& process_bootstrap(const bootstrap_options& options) {
  static std::mutex mutex;  // threads may create runtimes concurrently
  std::lock_guard guard(mutex);
  static process_wide_bootstrap* instance = nullptr;
  std::string name = options.kind;
  if (name.empty()) {
    if (const char* text = env_text(name_variable)) name = text;
  }
  if (name == no_launcher) name = local_kind.name;  // each runtime of the process is a job of its own
  if (instance != nullptr) {
    if (!options.kind.empty() && options.kind != instance->name()) {
      throw bootstrap_error("bootstrap '" + options.kind + "' was asked for, but this process has '" +
                            instance->name() + "' already; all runtimes of a process share one");
    }
    return *instance;
  }
  timeout = options.timeout >= 0 ? options.timeout : parse_timeout();
  instance = new process_wide_bootstrap(create_bootstrap(name));
  static const process_wide_bootstrap::end_at_exit at_exit{*instance};
  return *instance;
}

bootstrap& process_bootstrap() { return process_bootstrap(bootstrap_options{}); }

}  // namespace lci::network
