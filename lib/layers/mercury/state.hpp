// The only variables of the process: the old interface has no object for them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "lib/layers/mercury/lane.hpp"

namespace mercury {

class runtime;
class bulk_runtime;

/// `hg` and `bulk` are written with the lock, by the functions that initialize and finalize, and read without by all
/// others, which must not run at the same time.
struct state {
  std::mutex lock;
  std::atomic<runtime*> hg{nullptr};
  std::atomic<bulk_runtime*> bulk{nullptr};
};
extern state the_state;

/// With the lock. A lane of the class: that of the other part, if it has the same class.
std::shared_ptr<lane> lane_for(na_class_t* na);

/// With the lock.
hg_return_t init_bulk(const char* function, na_class_t* na);
hg_return_t finalize_bulk(const char* function);

}  // namespace mercury
