// How a proxy comes to be connected: its instructions from standard input, then TCP to lcirun.
#pragma once

#include "lib/tools/lcirun/setup.hpp"

namespace lci::launcher {

/// Both explain in std::runtime_error what went wrong, and take bounded time.
proxy_setup receive_setup(int input);
/// A socket to an lcirun that has shown to be the right one.
int call_home(const proxy_setup& setup);

}  // namespace lci::launcher
