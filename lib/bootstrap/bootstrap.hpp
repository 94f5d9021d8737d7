// How a process learns its rank, and the key-value store through which ranks exchange addresses before there is a
// network. One file in this folder for each kind of launcher.
//
// There is one bootstrap per process, shared by its runtimes: launchers' protocols allow one session per process.
// A bootstrap is not thread-safe: its callers serialize access. process_bootstrap() may be called by any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lci::network {

/// A rank's position among the ranks of its host.
struct host_place {
  int rank, size;
};

class bootstrap {
 public:
  virtual ~bootstrap() = default;
  virtual const char* name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Text that is the same on all ranks of the job and differs from that of any other job.
  virtual std::string job_id() const = 0;
  /// This rank's position on its host, if the launcher provides it.
  virtual std::optional<host_place> locality() const { return std::nullopt; }

  /// Puts a value of any bytes, at most 64 KiB; a few hundred bytes are preferable. It becomes visible to other ranks
  /// after a fence. A key is put once, by one rank.
  virtual void put(const std::string& key, const std::string& value) = 0;
  /// Returns what rank `owner` has put. Throws bootstrap_error if it had not put `key` before the last fence.
  virtual std::string get(const std::string& key, int owner) = 0;
  /// Returns, by rank, what each rank has put under `prefix` followed by its rank. Throws as get() does.
  virtual std::vector<std::string> get_all(const std::string& prefix);
  /// Barrier over all ranks. Throws bootstrap_error if the launcher disappears or the timeout expires.
  virtual void fence() = 0;
  /// Ends the whole job with this exit code.
  [[noreturn]] virtual void abort(int code, const std::string& message) = 0;
};

/// A kind of bootstrap: whether the environment asks for it, and how to create it. detected() throws bootstrap_error
/// if some of the required variables are missing.
struct bootstrap_kind {
  const char* name;
  bool (*detected)();
  std::unique_ptr<bootstrap> (*create)();
};

/// All kinds, in the order in which the environment is searched.
const std::vector<const bootstrap_kind*>& bootstrap_kinds();

/// The kinds that process_bootstrap() considers, in this order, if the attribute `bootstrap` is `name`: that kind; if
/// `name` is empty, those that LCT_PMI_BACKEND lists, or all. Throws option_error for a name of none.
std::vector<const bootstrap_kind*> bootstraps_to_try(const std::string& name);

/// Returns the process's bootstrap. The first call creates it: the first kind that the environment asks for, or the one
/// that LCI_ATTR_BOOTSTRAP names. Throws bootstrap_error with the variables' names if the environment is contradictory.
bootstrap& process_bootstrap();

/// How to create the process's bootstrap. An empty kind or a negative timeout means: as LCI_ATTR_BOOTSTRAP or
/// LCI_ATTR_BOOTSTRAP_TIMEOUT say, else the default.
struct bootstrap_options {
  std::string kind;
  double timeout = -1;  // seconds for each exchange with the launcher; 0 = for ever
};

/// As process_bootstrap(), for callers with attributes of their own. If the process already has a bootstrap, returns it
/// and ignores the options; but asking for another kind by name throws bootstrap_error.
bootstrap& process_bootstrap(const bootstrap_options& options);

/// For a backend whose ranks do not come from the launcher. Prints a warning, once, if a launcher has started this
/// process as one of several.
void warn_of_separate_jobs(const std::string& backend);

}  // namespace lci::network
