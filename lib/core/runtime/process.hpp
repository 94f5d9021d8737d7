// The rank of the process in the job between global_initialize() and global_finalize(), independent of runtimes.
#pragma once

#include <cstdint>

#include "lci/attributes.hpp"

namespace lci::core {

/// Who initializes. Calls are counted apart, so that a program's extra global_finalize() does not undo what its default
/// runtime has done.
enum class initializer : uint8_t { program, default_runtime };

/// Calls are counted. The first one reads rank and number of ranks from the bootstrap that a runtime with these
/// attributes would use. Throws bootstrap_error, without counting the call. All functions here are thread-safe.
void initialize_process(initializer who, const runtime_attr_t& attr, const net_context_attr_t& net_attr);
/// Undoes one initialize_process() of the same initializer; without one, does nothing.
void finalize_process(initializer who);
/// Undoes all calls of initialize_process(), in a forked child that calls restart_after_fork().
void forget_process();

/// -1 before initialize_process(), and where each runtime has ranks of its own.
int rank_of_process();
int size_of_process();

}  // namespace lci::core
