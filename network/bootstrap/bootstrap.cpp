#include "network/bootstrap/bootstrap.hpp"

#include <cmath>
#include <cstdlib>
#include <mutex>

#include "lci/errors.hpp"
#include "network/bootstrap/kinds.hpp"

namespace lci::network {

namespace {

constexpr double default_timeout = 60;
double timeout = default_timeout;

double parse_timeout() {
  const char* text = env_text("LCI_ATTR_BOOTSTRAP_TIMEOUT");
  if (text == nullptr) return default_timeout;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end != '\0' || !std::isfinite(seconds) || seconds < 0) {
    throw option_error("LCI_ATTR_BOOTSTRAP_TIMEOUT=" + std::string(text) +
                       " is not a number of seconds; use e.g. 60, or 0 to wait for ever");
  }
  return seconds;
}

const bootstrap_kind& choose(const std::string& name) {
  std::string names;
  for (const bootstrap_kind* kind : bootstrap_kinds()) {
    if (name.empty() ? kind->detected() : name == kind->name) return *kind;
    names += (names.empty() ? "" : ", ") + std::string(kind->name);
  }
  throw option_error("LCI_ATTR_BOOTSTRAP=" + name + " is not a kind of bootstrap; there are " +
                     names + " (unset it to choose by the environment)");
}

}  // namespace

const char* const bootstrap_remedy =
    "start the program with `lcirun -n N`, MPICH's `mpiexec` or `srun --mpi=pmi2`; "
    "LCI_ATTR_BOOTSTRAP=local makes it a job of one rank";

const char* env_text(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

const std::vector<const bootstrap_kind*>& bootstrap_kinds() {
  // local, which takes whatever is left, is last.
  static const std::vector<const bootstrap_kind*> kinds = {&pmi1_kind, &local_kind};
  return kinds;
}

double bootstrap_timeout() { return timeout; }

bootstrap& process_bootstrap(const bootstrap_options& options) {
  static std::mutex mutex;  // threads may make their runtimes at the same time
  std::lock_guard guard(mutex);
  // Its destructor, at the process's end, says good-bye to the launcher.
  static std::unique_ptr<bootstrap> instance;
  std::string name = options.kind;
  if (name.empty()) {
    if (const char* text = env_text("LCI_ATTR_BOOTSTRAP")) name = text;
  }
  if (name == "none") name = "local";  // of a process whose runtimes are jobs of their own
  if (instance != nullptr) {
    if (!options.kind.empty() && options.kind != instance->name()) {
      throw bootstrap_error("bootstrap '" + options.kind +
                            "' was asked for, but this process has '" + instance->name() +
                            "' already; all runtimes of a process share one");
    }
    return *instance;
  }
  timeout = options.timeout >= 0 ? options.timeout : parse_timeout();
  instance = choose(name).create();
  return *instance;
}

bootstrap& process_bootstrap() { return process_bootstrap(bootstrap_options{}); }

}  // namespace lci::network
