// How ranks tell each other where they are, by means of the bootstrap's key-value store.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/bootstrap/bootstrap.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// The `bootstrap` of a runtime that is a job of its own.
constexpr const char* no_bootstrap = "none";

/// The exchange of a runtime whose fabric brings none. All of a process use one bootstrap, which the
/// first one's options make.
std::unique_ptr<network::address_exchange> bootstrap_exchange(
    const network::bootstrap_options& options);

/// While it lives the bootstrap is the caller's alone: a bootstrap is used by one thread at a time.
class exchange_guard {
 public:
  exchange_guard();
  ~exchange_guard();
  exchange_guard(const exchange_guard&) = delete;
  exchange_guard& operator=(const exchange_guard&) = delete;

  /// To be called before a fence: a thread that meets a peer now must not wait for the fence, as the others
  /// may not come to it before that thread has sent.
  void read_what_others_may_wait_for();
};

/// What this process has asked of its launcher so far.
struct exchange_counts {
  uint64_t fences = 0;
  uint64_t reads = 0;  ///< of what another rank has put, all parts of a round together
};
exchange_counts count_exchanges();

}  // namespace lci::core
