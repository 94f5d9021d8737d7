// What is the process's, whatever runtimes it has: its rank in the job between global_initialize() and
// global_finalize().
#pragma once

#include "lci/attributes.hpp"

namespace lci::core {

/// Counted. The first call learns rank and number of ranks from where a runtime with these attributes would.
/// Throws bootstrap_error; then nothing is counted. Thread-safe, as are the others.
void initialize_process(const runtime_attr_t& attr, const net_context_attr_t& net_attr);
/// Undoes an initialize_process(); a call too many does nothing.
void finalize_process();

/// -1 before initialize_process(), and where each runtime brings its own ranks.
int rank_of_process();
int size_of_process();

}  // namespace lci::core
