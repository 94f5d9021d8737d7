// How ranks tell each other where they are, by means of the bootstrap's key-value store.
#pragma once

#include <memory>

#include "network/fabric.hpp"

namespace lci::core {

/// The exchange that all runtimes of this process use, unless their fabric brings its own.
std::unique_ptr<network::address_exchange> bootstrap_exchange();

}  // namespace lci::core
