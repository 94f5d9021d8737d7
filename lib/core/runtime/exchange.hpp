// Exchange of addresses between ranks through the bootstrap's key-value store.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/bootstrap/bootstrap.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// The `bootstrap` of a runtime that is a job of its own.
constexpr const char* no_bootstrap = "none";

/// The exchange of a runtime whose backend has none of its own. All exchanges of a process share one bootstrap, which
/// the first call creates from its options.
std::unique_ptr<network::address_exchange> bootstrap_exchange(const network::bootstrap_options& options);

/// A fence of the launcher, which waits for all ranks. Meanwhile this thread sends what it has queued in the backlogs
/// of devices: another rank may come to the fence only after it has received that.
void fence(network::bootstrap& boot);

/// Locks the process's bootstrap, which only one thread may use at a time.
class exchange_guard {
 public:
  exchange_guard();
  ~exchange_guard();
  exchange_guard(const exchange_guard&) = delete;
  exchange_guard& operator=(const exchange_guard&) = delete;

  /// Reads the records that earlier rounds have left unread. Call this before a fence: a thread that needs such a
  /// record to connect to a peer could not read it during the fence, and another rank may enter the fence only after it
  /// has received that thread's message.
  void read_unread_records();
};

/// Requests of this process to its launcher so far.
struct exchange_counts {
  uint64_t fences = 0;
  uint64_t reads = 0;  ///< of other ranks' records; a record holds all that its rank published at a time
};
exchange_counts count_exchanges();

}  // namespace lci::core
