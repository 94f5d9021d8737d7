// The global state of the layer. Mercury's old interface has no object that could own it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "lib/layers/mercury/lane.hpp"

namespace mercury {

class runtime;
class bulk_runtime;

/// The initializing and finalizing functions write `hg` and `bulk` under the lock. All other functions read them
/// without the lock; programs must not run them concurrently with the former.
struct state {
  std::mutex lock;
  std::atomic<runtime*> hg{nullptr};
  std::atomic<bulk_runtime*> bulk{nullptr};
  /// HG_Finalize() has found handles or transfers in use: transfers are finalized when the last one has been freed.
  std::atomic<bool> ends_bulk{false};
};
extern state the_state;

/// A lane of the class; HG and bulk transfers share one if they use the same class. The caller holds the lock.
std::shared_ptr<lane> lane_for(na_class_t* na);

/// The implementation of HG_Bulk_init(). The caller holds the lock.
hg_return_t init_bulk(const char* function, na_class_t* na);
hg_return_t finalize_bulk(const char* function);
/// To be called without the lock after a handle or a transfer has been freed.
void end_bulk_if_due();

}  // namespace mercury
