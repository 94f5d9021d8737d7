// The limits of this machine, measured without LCI: the baseline of LCI's figures.
#pragma once

#include <cstddef>
#include <functional>

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// Runs `lci_perf floor METRIC`, which forks its own second process. Returns the exit code.
int run_floor(const options& o);

/// Zeroed memory shared by both processes of a pair. Freed when the process ends.
void* shared_memory(size_t bytes);

/// Forks; `second` runs in the new process, on another core, and `first` in this one. If the second process dies before
/// `first` has returned, prints an error and ends this one, so that nothing waits for ever.
void run_pair(const options& o, const std::function<void()>& first, const std::function<void()>& second);

void floor_handoff(const options& o);
void floor_ring(const options& o);
void floor_cma(const options& o);
void floor_memcpy(const options& o);
void floor_atomic(const options& o);
void floor_strided(const options& o);

}  // namespace lci_perf
