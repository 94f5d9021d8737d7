#include "network/ibv/handles.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"

namespace lci::network::ibv {

std::string remedy_of(int error) {
  if (error != ENOMEM && error != EPERM && error != EAGAIN) return "";
  rlimit locked{};
  if (getrlimit(RLIMIT_MEMLOCK, &locked) != 0 || locked.rlim_cur == RLIM_INFINITY) return "";
  return "; at most " + std::to_string(locked.rlim_cur) + " bytes may be locked: raise `ulimit -l`";
}

void object_stays(const char* call, int error) noexcept {
  try {
    log_warning(std::string("ibv: ") + call + ": " + std::strerror(error) + " (" + std::to_string(error) +
                "): the object stays until the process ends");
  } catch (const std::exception&) {
    // Out of memory: the log message is dropped.
  }
}

void refused(const std::string& what, int error, const std::string& remedy) {
  throw resource_error("ibv: " + what + ": " + std::strerror(error) + " (" + std::to_string(error) + ")" + remedy);
}

void refused(const std::string& what, int error) { refused(what, error, remedy_of(error)); }

}  // namespace lci::network::ibv
