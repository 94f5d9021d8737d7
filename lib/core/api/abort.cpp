// The end of the whole job, asked for by one of its ranks.
#include <unistd.h>

#include <exception>
#include <mutex>

#include "generated/core_operations.hpp"
#include "lib/base/log.hpp"
#include "lib/bootstrap/bootstrap.hpp"

namespace lci::core {

void abort(abort_args& a) {
  // Never unlocked: of several threads the first one decides, and the process ends under the others.
  static std::mutex& once = *new std::mutex;
  once.lock();
  // The system keeps 8 bits: a bad code shall not become a good one.
  const int code = a.code != 0 && (a.code & 0xff) == 0 ? 1 : a.code & 0xff;
  try {
    network::process_bootstrap().abort(code, a.message == nullptr ? "" : a.message);
  } catch (const std::exception& e) {
    log_warning(std::string("abort: the launcher can't be told: ") + e.what());
  }
  _exit(code);
}

}  // namespace lci::core
