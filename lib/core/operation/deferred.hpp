// The runtime's list of work that progress() retries.
#pragma once

#include "lib/concurrent/deferred_queue.hpp"

namespace lci::core {

using lci::deferred_queue;

}  // namespace lci::core
