// How a proxy connects to lcirun: it reads its setup from standard input, then connects over TCP.
#pragma once

#include "lib/tools/lcirun/setup.hpp"

namespace lci::launcher {

/// Both throw std::runtime_error with an explanation, and take bounded time.
proxy_setup receive_setup(int input);
/// Returns a socket to an lcirun that has proved to know the job's key.
int call_home(const proxy_setup& setup);

}  // namespace lci::launcher
