// For layers whose start exchanges something with all processes of the job.
#pragma once

#include <exception>

#include "lci/job.hpp"
#include "lib/base/insist_on_memory.hpp"

namespace layers {

/// Returns whether this process is the only one of its job. If it is not, a failure of the layer's start can't be left
/// to the caller: the others wait for this process, and could not pass through the same steps with it again. Returns
/// false also if there is no memory to find out.
inline bool is_alone_in_job() noexcept {
  for (int n = 0; n < lci::memory_tries; ++n) {
    try {
      return lci::detail::join_job().size == 1;
    } catch (const std::exception&) {
      lci::await_memory();
    }
  }
  return false;
}

}  // namespace layers
