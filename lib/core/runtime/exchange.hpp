// Exchange of addresses between ranks through the bootstrap's key-value store.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/bootstrap/bootstrap.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// The `bootstrap` of a runtime that is a job of its own.
constexpr const char* no_bootstrap = "none";

/// The exchange of a runtime whose fabric has none of its own. All exchanges of a process use one bootstrap,
/// created from the options of the first call.
std::unique_ptr<network::address_exchange> bootstrap_exchange(
    const network::bootstrap_options& options);

/// Locks the process's bootstrap, which only one thread may use at a time.
class exchange_guard {
 public:
  exchange_guard();
  ~exchange_guard();
  exchange_guard(const exchange_guard&) = delete;
  exchange_guard& operator=(const exchange_guard&) = delete;

  /// Call this before a fence. Otherwise a thread that connects to a peer would have to wait for the fence, which
  /// other ranks may not enter before that thread has sent its message.
  void read_what_others_may_wait_for();
};

/// Requests of this process to its launcher so far.
struct exchange_counts {
  uint64_t fences = 0;
  uint64_t reads = 0;  ///< of other ranks' records; a record holds all parts of a round
};
exchange_counts count_exchanges();

}  // namespace lci::core
