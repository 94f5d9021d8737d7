// Where a process learns its rank, and the small key-value store through which ranks find each
// other before there is a network. One file beside this one per kind of launcher.
//
// One bootstrap per process, shared by its runtimes: launchers' protocols allow one session only.
// A bootstrap is used by one thread at a time, which its callers see to; process_bootstrap(), which
// finds or makes it, may be called by any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lci::network {

/// Among the ranks of one host.
struct host_place {
  int rank, size;
};

class bootstrap {
 public:
  virtual ~bootstrap() = default;
  virtual const char* name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Text that is the same for all ranks of the job and differs from any other job's.
  virtual std::string job_id() const = 0;
  /// Where the launcher says we are on our host, if it does.
  virtual std::optional<host_place> locality() const { return std::nullopt; }

  /// Values may be any bytes, up to 64 KiB, better a few hundred. Visible to others after a fence. A
  /// key is put once, by one rank.
  virtual void put(const std::string& key, const std::string& value) = 0;
  /// What rank `owner` has put. Throws bootstrap_error if it has not put `key` before the last fence.
  virtual std::string get(const std::string& key, int owner) = 0;
  /// What each rank has put under `prefix` followed by its number, by rank; throws as get() does.
  virtual std::vector<std::string> get_all(const std::string& prefix);
  /// Barrier over all ranks. Throws bootstrap_error when the launcher goes away or time runs out.
  virtual void fence() = 0;
  /// Ends the whole job with this exit code.
  [[noreturn]] virtual void abort(int code, const std::string& message) = 0;
};

/// One way to start: whether the environment asks for it, and how. detected() throws
/// bootstrap_error where the environment asks for it by halves.
struct bootstrap_kind {
  const char* name;
  bool (*detected)();
  std::unique_ptr<bootstrap> (*create)();
};

/// All kinds, in the order in which the environment is searched.
const std::vector<const bootstrap_kind*>& bootstrap_kinds();

/// The process's bootstrap: the first kind that the environment asks for (LCI_ATTR_BOOTSTRAP forces
/// one), made at the first call. Throws bootstrap_error with the variables' names if the
/// environment is contradictory.
bootstrap& process_bootstrap();

/// How the process's bootstrap is to be made. Empty or negative: as the environment
/// (LCI_ATTR_BOOTSTRAP, LCI_ATTR_BOOTSTRAP_TIMEOUT) says, or else the default.
struct bootstrap_options {
  std::string kind;
  double timeout = -1;  // seconds for each exchange with the launcher; 0 = for ever
};

/// As process_bootstrap(), for callers with attributes of their own. If the process has its
/// bootstrap already, it is returned and the options have no effect, except that asking for another
/// kind by name throws bootstrap_error.
bootstrap& process_bootstrap(const bootstrap_options& options);

}  // namespace lci::network
