// abort(): one rank ends the whole job.
#include <unistd.h>

#include <exception>
#include <mutex>

#include "generated/core_operations.hpp"
#include "lib/base/log.hpp"
#include "lib/bootstrap/bootstrap.hpp"

namespace lci::core {

void abort(abort_args& a) {
  // Never unlocked: the first of several threads sets the exit code; the others block until the process ends.
  static std::mutex& once = *new std::mutex;
  once.lock();
  // The system keeps 8 bits of an exit code: a nonzero code must not become 0.
  const int code = a.code != 0 && (a.code & 0xff) == 0 ? 1 : a.code & 0xff;
  try {
    network::process_bootstrap().abort(code, a.message == nullptr ? "" : a.message);
  } catch (const std::exception& e) {
    log_warning(std::string("abort: can't notify the launcher: ") + e.what());
  }
  _exit(code);
}

}  // namespace lci::core
